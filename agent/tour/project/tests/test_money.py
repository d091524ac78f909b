import unittest

from tally.money import AmountError, format_amount, parse_amount, split_evenly


class ParseAmount(unittest.TestCase):
    def test_whole_and_decimal(self):
        self.assertEqual(parse_amount("12"), 1200)
        self.assertEqual(parse_amount("12.5"), 1250)
        self.assertEqual(parse_amount("12.05"), 1205)

    def test_thousands(self):
        self.assertEqual(parse_amount("1,234.50"), 123450)

    def test_negative(self):
        self.assertEqual(parse_amount("-4.20"), -420)

    def test_negative_below_one(self):
        self.assertEqual(parse_amount("-0.05"), -5)

    def test_not_an_amount(self):
        for text in ("", "four", "1.234", "1,23", "--1"):
            with self.subTest(text), self.assertRaises(AmountError):
                parse_amount(text)


class FormatAmount(unittest.TestCase):
    def test_sign_and_thousands(self):
        self.assertEqual(format_amount(-123450), "-1,234.50")
        self.assertEqual(format_amount(5), "0.05")

    def test_width(self):
        self.assertEqual(format_amount(420, 8), "    4.20")


class SplitEvenly(unittest.TestCase):
    def test_nothing_is_lost(self):
        self.assertEqual(split_evenly(100, 3), [34, 33, 33])
        self.assertEqual(split_evenly(-100, 3), [-34, -33, -33])
