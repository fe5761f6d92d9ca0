#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Layers that a real overlayfs wrote: merged ones show the same when they are mounted, an apply makes
the host's directory what the sandbox saw, and an undo what it was. Random changes, from a seed that
is printed; MSP_SEED repeats one."""
import os
import random
import subprocess
import time
import unittest

import layers_overlay
import layers_support as layers


class Changed(layers_overlay.Overlay):
    def make_states(self, dice):
        layers_overlay.Tree(self.path("host"), dice).disturb(2 * layers_overlay.CHANGES)
        states = [layers.listing(self.path("host"))]
        for _ in range(3):
            time.sleep(0.03)  # the host's files are older than that
            since = layers.now_us()
            states.append(self.add_layer(dice))
            layers.run("SCAN", self.path("host"), self.layers, since_us=since)
        return states

    def shown(self, lowers):
        for name in ("upper", "work"):
            os.makedirs(self.path(name), exist_ok=True)
        layers_overlay.mounted([os.path.join(lower, "workspace") for lower in lowers] +
                               [self.path("host")], self.path("upper"), self.path("work"),
                               self.path("merged"))
        try:
            return layers.listing(self.path("merged"))
        finally:
            subprocess.run(["umount", self.path("merged")], check=True)

    def check_merged(self, state, count):
        target = self.path(f"target{count}")
        os.mkdir(target)
        layers.run("MERGE", layers=self.layers[:count], target=target)
        self.assertEqual(self.shown([target] + self.layers[count:]), state)

    def check_applied(self, states):
        os.mkdir(self.path("journal"))
        values = {"host": self.path("host"), "layers": self.layers,
                  "journal": self.path("journal")}
        done, _ = layers.run("APPLY", flags=layers.HELD_TOO, **values)
        self.assertEqual(done.conflicts, 0)
        self.assertEqual(layers.listing(self.path("host")), states[-1])
        self.assertEqual(layers.run("DIFF", self.path("host"), self.layers)[1], [])
        done, _ = layers.run("UNDO", **values)
        self.assertEqual(done.conflicts, 0)
        self.assertEqual(layers.listing(self.path("host")), states[0])
        self.assertEqual(os.listdir(self.path("journal")), [])

    def test_what_is_merged_and_applied(self):
        for number in range(layers_overlay.ROUNDS):
            seed = layers_overlay.SEED + number
            with self.subTest(seed=seed):
                self.clear()
                states = self.make_states(random.Random(seed))
                self.assertEqual(self.shown(self.layers), states[-1])
                self.check_merged(states[-1], 2)
                self.check_merged(states[-1], 3)
                self.check_applied(states)


for inherited in vars(layers_overlay.Overlay):  # it is here for what its tests need
    if inherited.startswith("test_"):
        setattr(Changed, inherited, None)


if __name__ == "__main__":
    layers_overlay.main()
