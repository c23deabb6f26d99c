# SPDX-License-Identifier: Apache-2.0
"""A registered client that writes its lane as it likes, beside a program that must not notice."""
import mmap
import os
import random
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(__file__))
import peer  # noqa: E402
from beside import BesideCase, wait_until  # noqa: E402
from peer import Lane, Peer  # noqa: E402

SEED = int(os.environ.get("SGPRS_TEST_SEED", str(random.randrange(1 << 30))))
HUGE = 2**64 - 1


class HostileLane(BesideCase):
    """Cut with a reason, or ignored; never felt."""

    def setUp(self):
        super().setUp()
        self.device = peer.device_of(self.stack)
        self.fds = self.count_fds()

    def join(self, **fields):
        """A client that keeps the rules so far."""
        return Peer(self.stack.socket).register(**self.device, **fields)

    def assert_cut(self, what, act):
        """After act(lane) the client is cut, and counted."""
        with self.subTest(what), self.join(name=what.encode()[:63]) as someone:
            before = self.clients()["cut"]
            act(someone.lane)
            wait_until(someone.cut, what=f"{what}: the cut")
            self.assertEqual(self.clients()["cut"], before + 1)

    def test_cursors(self):
        def backwards(lane):
            lane.record(20, 1)
            lane.granted()
            lane.put(Lane.RECORDED, 10)

        for word in ("RECORDED", "ISSUED", "COMPLETED", "INTERNED"):
            self.assert_cut(f"{word} far ahead", lambda lane, w=word: lane.put(getattr(Lane, w), HUGE))
        self.assert_cut("recorded backwards", backwards)
        self.assert_cut("issued before recorded", lambda lane: lane.put(Lane.ISSUED, 5))
        self.assert_cut("more than the ring", lambda lane: lane.put(Lane.RECORDED, lane.slot_count + 1))
        self.assert_all_is_well()

    def test_slots(self):
        def one(**fields):
            def act(lane):
                lane.slot(0, **fields)
                lane.put(Lane.RECORDED, 1)

            return act

        self.assert_cut("no kind", one(kind=0, flags=1))
        self.assert_cut("wild kind", one(kind=200, flags=1))
        self.assert_cut("wild index", one(index=2**40, flags=1))
        self.assert_cut("job 0", one(job=0, flags=1))
        self.assert_cut("wild kernel", one(kernel=2**32 - 1, flags=1))
        self.assert_cut("never written", lambda lane: lane.put(Lane.RECORDED, 100))

        def twice(lane):
            lane.record(3, 5)
            lane.record(3, 5)

        def older(lane):
            lane.record(3, 5)
            lane.record(3, 4)

        self.assert_cut("a job twice", twice)
        self.assert_cut("jobs backwards", older)
        self.assert_all_is_well()

    def test_completions(self):
        def act(**fields):
            def run(lane):
                lane.record(10, 1)
                lane.granted()
                lane.completion(0, **fields)

            return run

        self.assert_cut("beyond what is recorded", act(upto=11, grant=1))
        self.assert_cut("beyond everything", act(upto=HUGE))
        self.assert_cut("a grant that never was", act(upto=5, grant=99))
        self.assert_all_is_well()

    def test_what_is_ignored(self):
        with self.join(name=b"odd", period_ns=50_000_000) as someone:
            lane = someone.lane
            # Everything that only the runtime writes, and what it does not read again.
            for offset in (*range(0, 128, 8), *range(Lane.GRANTED, 256, 8), *range(Lane.SETTINGS, 1024, 8)):
                lane.put(offset, HUGE)
            for offset in range(lane.grants, lane.completions, 8):
                lane.put(offset, HUGE)
            lane.ring()
            lane.put(Lane.COMPLETIONS, HUGE)  # a ring overrun many times: old entries, all zero
            lane.ring()
            lane.record(10, 1)
            self.assert_goes_on()
            self.assertFalse(someone.cut())
        self.assert_all_is_well()

    def test_times_that_can_not_be(self):
        with self.join(name=b"times", period_ns=50_000_000) as someone:
            lane = someone.lane
            for number, when in enumerate((HUGE, 0, 2**63, 1)):
                lane.slot(number, job=number + 1, flags=1, time_ns=when)
                lane.put(Lane.RECORDED, number + 1)
                lane.put(Lane.ISSUED, number + 1)
                lane.put(Lane.COMPLETED, number + 1)
                lane.completion(number, upto=number + 1, times=HUGE - when)
                lane.ring()
            self.assert_goes_on()
            row = next(t for t in self.stack.json("tasks")["tasks"] if t["name"] == "times")
            self.assertEqual(row["counters"]["jobs_released"], 4)
            self.assertLess(row["worst_response_ns"], 3600 * 10**9)
        self.assert_all_is_well()

    def test_a_client_that_takes_and_never_gives(self):
        """It is granted partitions and never issues: others get theirs all the same."""
        greedy = [self.join(name=f"greedy{n}".encode(), task_class=0, period_ns=1_000_000) for n in range(8)]
        for someone in greedy:
            self.addCleanup(someone.close)
            someone.lane.record(100, 1)
        self.assert_goes_on(2)
        for someone in greedy:
            someone.close()
        wait_until(lambda: self.clients()["now"] == 1, what="the greedy ones to be forgotten")
        rows = self.stack.json("partitions")["partitions"]
        self.assertLessEqual(sum(p["running"] for p in rows), 1, rows)
        self.assert_all_is_well()

    def test_a_flood_of_jobs(self):
        """Thousands of jobs a second, all complete at once, the bell ringing all the time."""
        with self.join(name=b"flood") as someone:
            lane = someone.lane
            before = self.daemon_kb()
            index = job = 0
            end = time.monotonic() + 5
            while time.monotonic() < end:
                for _ in range(1000):
                    job += 1
                    lane.slot(index, job=job, flags=1)
                    index += 1
                lane.put(Lane.RECORDED, index)
                lane.put(Lane.ISSUED, index)
                lane.put(Lane.COMPLETED, index)
                lane.ring()
            self.assert_goes_on(2)
            self.assertFalse(someone.cut())
            self.assertGreater(job, 10_000)
            self.assertLess(self.daemon_kb() - before, 64 * 1024)
        self.assert_all_is_well()

    def daemon_kb(self):
        """Resident memory of sgprsd."""
        with open(f"/proc/{self.stack.daemon.pid}/statm", encoding="utf-8") as file:
            return int(file.read().split()[1]) * mmap.PAGESIZE // 1024

    def test_random_bytes(self):
        print(f"seed {SEED}", flush=True)
        chance = random.Random(SEED)
        for number in range(12):
            with self.join(name=f"random{number}".encode()) as someone:
                lane = someone.lane
                lane.record(chance.randrange(1, 50), 1)
                for _ in range(chance.randrange(1, 200)):
                    start = chance.choice((0, 128, lane.slots, lane.completions, lane.kernels))
                    offset = start + 8 * chance.randrange(0, 64)
                    lane.put(offset, chance.choice((0, 1, HUGE, chance.getrandbits(64), chance.getrandbits(12))))
                    if chance.random() < 0.2:
                        lane.ring()
                self.assert_goes_on(1)
        wait_until(lambda: self.clients()["now"] == 1, what="everybody to be forgotten")
        self.assert_all_is_well()

    def test_b44_the_lane_can_not_be_shrunk(self):
        """Else sgprsd would fault on its own mapping."""
        with Peer(self.stack.socket) as someone:
            someone.send(peer.hello(**self.device))
            kind, _, fd = someone.receive()
            self.assertEqual(kind, peer.WELCOME)
            for size in (0, 4096, 1 << 30):
                with self.assertRaises(PermissionError):
                    os.ftruncate(fd, size)
            os.close(fd)
        self.assert_all_is_well()


if __name__ == "__main__":
    unittest.main()
