import unittest

from tally.parser import parse
from tally.report import balance_lines, balances, month_lines, register_lines

LEDGER = """\
2026-03-02 Market
  food:market  18.40
  cash
2026-03-09 Bakery
  food:bread   5.10
  cash
2026-04-01 Rent
  home:rent    700
  bank
"""


class Report(unittest.TestCase):
    def setUp(self):
        self.entries = parse(LEDGER)

    def test_parents_are_sums(self):
        found = balances(self.entries)
        self.assertEqual(found["food"], 2350)
        self.assertEqual(found["food:bread"], 510)
        self.assertEqual(sum(found[top] for top in ("food", "home", "cash", "bank")), 0)

    def test_children_are_indented(self):
        self.assertIn("        5.10    bread", list(balance_lines(self.entries)))

    def test_register_runs(self):
        last = list(register_lines(self.entries, "food"))[-1]
        self.assertTrue(last.endswith("5.10       23.50"), last)

    def test_a_month(self):
        lines = list(month_lines(self.entries, "2026-03"))
        self.assertEqual(lines[0], "2026-03: 2 entries")
        self.assertIn("       23.50  food", lines)
