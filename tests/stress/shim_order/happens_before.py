# SPDX-License-Identifier: Apache-2.0
"""What a device's log has to show: every launch began after those that it has to come after were over."""


def parse_order(text):
    """What `shim_order --order` prints: launch -> launches that are over before it begins."""
    before = {}
    for line in text.splitlines():
        launch, earlier = line.split(":")
        before[int(launch)] = [int(other) for other in earlier.split()]
    return before


def violations(before, ran):
    """`ran`: launch -> its row of the log. Returns a sentence for each launch that is missing, was not asked for,
    or began too early."""
    found = [f"launch {launch} did not run" for launch in sorted(before.keys() - ran.keys())]
    found += [f"launch {launch} is not of this program" for launch in sorted(ran.keys() - before.keys())]
    for launch in sorted(before.keys() & ran.keys()):
        for other in before[launch]:
            if other in ran and ran[other]["end_ns"] > ran[launch]["start_ns"]:
                found.append(f"launch {launch} began at {ran[launch]['start_ns']}, before launch {other} "
                             f"was over at {ran[other]['end_ns']}")
    return found


def swapped(ran, one, other):
    """The log with two launches in each other's place: what a lost order would have left behind."""
    changed = dict(ran)
    changed[one], changed[other] = ran[other], ran[one]
    return changed
