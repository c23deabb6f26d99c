# SPDX-License-Identifier: Apache-2.0
"""The checker of the device's log says no when it has to; on logs made by hand."""
import unittest

from happens_before import parse_order, swapped, violations

ORDER = "3:\n7: 3\n8: 3\n12: 3 7 8\n"


def row(start_ns, end_ns):
    return {"start_ns": start_ns, "end_ns": end_ns}


class Checker(unittest.TestCase):
    """3, then 7 and 8 in any order or at once, then 12."""

    def setUp(self):
        self.before = parse_order(ORDER)
        self.ran = {3: row(10, 20), 7: row(20, 40), 8: row(25, 35), 12: row(40, 50)}

    def test_a_good_log(self):
        self.assertEqual(self.before, {3: [], 7: [3], 8: [3], 12: [3, 7, 8]})
        self.assertEqual(violations(self.before, self.ran), [])

    def test_two_that_depend_on_each_other_in_each_others_place(self):
        for launch, earlier in self.before.items():
            for other in earlier:
                self.assertTrue(violations(self.before, swapped(self.ran, launch, other)), (launch, other))

    def test_two_that_do_not(self):
        self.ran[7], self.ran[8] = row(20, 30), row(30, 40)
        self.assertEqual(violations(self.before, swapped(self.ran, 7, 8)), [])

    def test_one_nanosecond_too_early(self):
        self.ran[12] = row(39, 50)
        found = violations(self.before, self.ran)
        self.assertEqual(len(found), 1)
        self.assertIn("launch 12 began at 39, before launch 7", found[0])

    def test_one_that_did_not_run_and_one_too_many(self):
        del self.ran[8]
        self.ran[9] = row(20, 21)
        self.assertEqual(violations(self.before, self.ran), ["launch 8 did not run", "launch 9 is not of this program"])


if __name__ == "__main__":
    unittest.main()
