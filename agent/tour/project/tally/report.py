"""What people read: balances, the register, a month at a glance."""

from collections import defaultdict

from tally.money import format_amount, total

# Amounts up to 999,999.99 with a sign; a household that needs more has an accountant.
WIDTH = 12


def balances(entries):
    """Cents by account, every parent account included: `food` sums `food:bread`."""
    found = defaultdict(int)
    for entry in entries:
        for posting in entry.postings:
            for account in with_parents(posting.account):
                found[account] += posting.cents
    return dict(found)


def with_parents(account):
    """`a:b:c` gives `a`, `a:b` and `a:b:c`."""
    parts = account.split(":")
    return [":".join(parts[: i + 1]) for i in range(len(parts))]


def balance_lines(entries):
    """The balance report: one line an account, children indented."""
    found = balances(entries)
    for account in sorted(found):
        depth = account.count(":")
        name = "  " * depth + account.rpartition(":")[2]
        yield f"{format_amount(found[account], WIDTH)}  {name}"


def register_lines(entries, account=None):
    """Every posting with the running total of what was shown so far.

    `account` keeps only that account and those below it.
    """
    running = 0
    for entry in sorted(entries, key=lambda e: e.day):
        for posting in entry.postings:
            if account is not None and account not in with_parents(posting.account):
                continue
            running += posting.cents
            left = f"{entry.day}  {entry.title[:28]:<28}  {posting.account[:24]:<24}"
            yield f"{left}{format_amount(posting.cents, WIDTH)}{format_amount(running, WIDTH)}"


def of_month(entries, month):
    """The entries of one month, written `2026-03`."""
    # TODO: complain about a month that is not one
    return [e for e in entries if f"{e.day:%Y-%m}" == month]


def spent(entries, account):
    """What went into an account and those below it, in cents."""
    return total(p.cents for e in entries for p in e.postings if account in with_parents(p.account) and p.cents > 0)


def month_lines(entries, month):
    """One month: what went into each top account, largest first."""
    chosen = of_month(entries, month)
    tops = {p.account.partition(":")[0] for e in chosen for p in e.postings}
    rows = sorted(((spent(chosen, top), top) for top in tops), reverse=True)
    yield f"{month}: {len(chosen)} entries"
    for cents, top in rows:
        yield f"{format_amount(cents, WIDTH)}  {top}"
