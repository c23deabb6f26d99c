# SPDX-License-Identifier: Apache-2.0
"""Nonsense on the control socket: refused with a line, counted, and the program beside goes on."""
import os
import random
import socket
import struct
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(__file__))
import peer  # noqa: E402
from beside import BesideCase, wait_until  # noqa: E402
from peer import Peer  # noqa: E402

VERSION, FULL, BAD_MESSAGE, DEVICE = 1, 2, 4, 5
SEED = int(os.environ.get("SGPRS_TEST_SEED", str(random.randrange(1 << 30))))


class Control(BesideCase):
    """One kind of nonsense a test."""

    def refused(self, packet, code, part):
        """What is sent first is refused."""
        with self.subTest(packet=packet[:40]), Peer(self.stack.socket) as someone:
            someone.send(packet)
            got, text = someone.refusal()
            self.assertEqual(got, code, text)
            self.assertIn(part, text)
            self.assertNotIn("\n", text)

    def test_packets(self):
        print(f"seed {SEED}", flush=True)
        chance = random.Random(SEED)
        before = self.clients()
        for _ in range(50):
            self.refused(chance.randbytes(chance.randrange(16, 5000)), BAD_MESSAGE, "")
        good = peer.hello()
        wrong = [
            (b"\0", "message of 1 bytes"),
            (good[:15], "message of 15 bytes"),
            (peer.message(peer.HELLO, magic=0), "not a message"),
            (good[:-1], "bytes that says"),
            (good + b"\0", "bytes that says"),
            (peer.message(peer.HELLO, b"x" * 100), "HELLO"),
            (peer.message(peer.HELLO, b"x" * 4080), "HELLO"),
            (peer.message(peer.HELLO, b"x" * 4081), "bytes that says"),
            (peer.message(peer.HELLO, b"x" * 100000), "bytes that says"),
            (peer.message(peer.HELLO, size=2**32 - 1), "bytes that says"),
            (peer.message(peer.HELLO, good[16:], flags=1), "flags"),
            (peer.message(0), "type 0"),
            (peer.message(999), "type 999"),
            (peer.message(peer.WELCOME), "type 2"),
            (peer.message(peer.GOODBYE, b"x"), "bytes instead of 16"),
            (peer.message(peer.STATE, b"x"), "bytes instead of 16"),
            (peer.ready([2, 2, 2]), "READY before HELLO"),
            (peer.command("x")[:-1], "bytes that says"),
            (peer.message(peer.COMMAND, struct.pack("<II4032s", 0, 4032, b"x" * 4032)), "does not end"),
            (peer.message(peer.COMMAND, struct.pack("<II4032s", 0, 2**32 - 1, b"")), "does not end"),
            (peer.message(peer.COMMAND, struct.pack("<II4032s", 0, 3, b"a\0b")), "zero byte"),
        ]
        for packet, part in wrong:
            self.refused(packet, BAD_MESSAGE, part)
        for major in (0, 1, 65535):
            self.refused(peer.message(peer.HELLO, good[16:], major=major), VERSION, f"version {major}")
        after = self.clients()
        self.assertEqual(after["refused"], before["refused"] + 50 + len(wrong) + 3)
        self.assertEqual((after["cut"], after["total"]), (before["cut"], before["total"]))
        self.assertIn("refused", " ".join(self.stack.json("status")["degraded"]))
        self.assert_all_is_well()

    def test_absurd_hellos(self):
        absurd = [
            dict(name=b"n" * 64), dict(program=b"\xff" * 64), dict(device_name=b"d" * 64),
            dict(period_ns=2**64 - 1), dict(deadline_ns=2**63), dict(period_ns=24 * 3600 * 10**9 + 1),
            dict(task_class=3), dict(task_class=2**32 - 1), dict(job_rule=3), dict(job_rule=1, job_launches=0),
            dict(job_rule=1, job_launches=2**64 - 1), dict(sm_count=0), dict(sm_count=2**32 - 1), dict(sm_minimum=0),
            dict(sm_minimum=69), dict(sm_alignment=0), dict(sm_alignment=2**31), dict(backends=0), dict(backends=16),
        ]  # fmt: skip
        for fields in absurd:
            with self.subTest(fields=fields):
                self.refused(peer.hello(**fields), BAD_MESSAGE, "HELLO: ")
        # Right in itself, but of another device than the one in use.
        self.refused(peer.hello(name=b"\x1b[31m\n\xff", device_name=b"\x1b]0;owned\x07\n"), DEVICE, "this sgprsd schedules")
        log = self.stack.log("sgprsd.log")
        self.assertNotIn("\x1b", log)
        self.assertTrue(all(line.startswith(("2", "sgprsd: ready")) for line in log.splitlines()), log)
        self.assert_all_is_well()

    def test_out_of_order(self):
        device = peer.device_of(self.stack)
        before = self.clients()
        ends = [
            (lambda p: p.send(peer.hello(**device)), "HELLO twice"),
            (lambda p: p.send(peer.ready([34, 34])), "READY with 2 partitions of 3"),
            (lambda p: p.send(peer.ready([34, 34, 34], count=2**32 - 1)), "READY"),
            (lambda p: p.send(peer.ready([34, 34, 2**32 - 1])), "READY"),
            (lambda p: p.send(peer.ready([34, 34, 34], backend=77)), "backend"),
            (lambda p: p.send(b"nonsense"), "message of 8 bytes"),
        ]
        for number, (act, part) in enumerate(ends):
            with self.subTest(part), Peer(self.stack.socket) as someone:
                someone.register(**device, name=f"odd{number}".encode())
                act(someone)
                self.assertIn(part, someone.refusal()[1])
        after = self.clients()
        self.assertEqual(after["cut"], before["cut"] + len(ends))
        self.assertEqual(after["now"], 1)
        self.assert_all_is_well()

    def test_b32_half_registered_then_silent(self):
        device = peer.device_of(self.stack)
        silent = []
        for number in range(5):
            someone = Peer(self.stack.socket)
            self.addCleanup(someone.close)
            someone.send(peer.hello(**device, name=f"half{number}".encode()))
            self.assertEqual(someone.receive()[0], peer.WELCOME)  # the lane stays unmapped, READY unsaid
            silent.append(someone)
        states = {t["name"]: t["state"] for t in self.stack.json("tasks")["tasks"]}
        self.assertEqual([states[f"half{n}"] for n in range(5)], ["joining"] * 5)
        self.assert_goes_on()
        for someone in silent:
            someone.close()
        wait_until(lambda: self.clients()["now"] == 1, what="the halves to be forgotten")
        self.assert_all_is_well()

    def test_200_connections_that_say_nothing(self):
        before = self.clients()["refused"]
        mute = [Peer(self.stack.socket) for _ in range(200)]
        self.assert_goes_on(1)
        # Each is told why and hung up on, by itself.
        for someone in mute:
            code, text = someone.refusal()
            self.assertEqual((code, text), (BAD_MESSAGE, "nothing said after connecting"))
            someone.close()
        self.assertEqual(self.clients()["refused"], before + 200)
        self.assert_all_is_well()

    def test_hang_up_anywhere(self):
        device = peer.device_of(self.stack)
        for packets in ([], [peer.hello(**device)], [peer.hello(**device), peer.ready([34, 34, 34])],
                        [peer.message(peer.STATE)], [peer.command("policy")], [peer.message(peer.GOODBYE)]):
            for _ in range(20):
                someone = Peer(self.stack.socket)
                for packet in packets:
                    someone.send(packet)
                someone.close()
        wait_until(lambda: self.clients()["now"] == 1, what="everybody to be forgotten")
        self.assert_all_is_well()

    def test_descriptors_sent_along_are_not_kept(self):
        with Peer(self.stack.socket) as someone:
            read, write = os.pipe()
            for _ in range(30):
                socket.send_fds(someone.socket, [peer.command("version")], [write] * 8)
                self.assertEqual(someone.receive()[0], peer.REPLY)
            os.close(write)
            self.assertEqual(os.read(read, 1), b"")  # nobody else has it
            os.close(read)
        self.assert_all_is_well()

    def test_who_does_not_read_its_answers_is_cut(self):
        with Peer(self.stack.socket) as someone:
            someone.socket.settimeout(10)
            with self.assertRaises((BrokenPipeError, ConnectionResetError)):
                for _ in range(5000):
                    someone.send(peer.command("policy"))
        self.assert_all_is_well()

    def test_commands(self):
        with Peer(self.stack.socket) as someone:
            for text in ("", " ", "nonsense", "policy nonsense", "policy\n", "trace", "trace start", "trace start relative",
                         "trace start /nonexistent/x", "trace stop", "trace start " + "/" * 4000, "shutdown now",
                         "version 2", "\x1b[31m", "x" * 4031):
                with self.subTest(text=text[:40]):
                    someone.send(peer.command(text))
                    kind, body, _ = someone.receive()
                    self.assertEqual(kind, peer.REPLY)
                    status, size = struct.unpack_from("<II", body)
                    answer = body[8:8 + size].decode()
                    self.assertIn(status, (1, 2), answer)
                    self.assertTrue(answer and answer.isprintable(), answer)
        self.assertEqual(self.stack.json("status")["policy"], "sgprs")
        self.assert_all_is_well()

    def test_a_flood_of_connections(self):
        end = time.monotonic() + 3
        count = 0
        while time.monotonic() < end:
            with Peer(self.stack.socket) as someone:
                someone.send(b"nonsense")
                count += 1
        self.assertGreater(count, 10)
        self.assert_all_is_well()


if __name__ == "__main__":
    unittest.main()
