import unittest
from datetime import date

from tally.parser import LedgerError, parse

BREAD = """\
2026-01-03 Corner bakery
  food:bread  4.20
  cash       -4.20
"""


class Parse(unittest.TestCase):
    def test_an_entry(self):
        (entry,) = parse(BREAD)
        self.assertEqual((entry.day, entry.title), (date(2026, 1, 3), "Corner bakery"))
        self.assertEqual([(p.account, p.cents) for p in entry.postings], [("food:bread", 420), ("cash", -420)])

    def test_one_amount_may_be_left_out(self):
        (entry,) = parse("2026-01-03 Rent\n  home:rent  700\n  bank\n")
        self.assertEqual(entry.postings[1].cents, -70000)

    def test_a_small_rounding_posting(self):
        (entry,) = parse("2026-01-03 Cash desk\n  food  9.95\n  cash  -9.90\n  rounding  -0.05\n")
        self.assertEqual(entry.postings[2].cents, -5)

    def test_an_entry_must_add_up(self):
        with self.assertRaises(LedgerError) as caught:
            parse(BREAD.replace("-4.20", "-4.00"))
        self.assertEqual(str(caught.exception), "line 1: the entry is off by 0.20")

    def test_a_date_must_exist(self):
        with self.assertRaises(LedgerError):
            parse("2026-02-30 Nowhere\n")
