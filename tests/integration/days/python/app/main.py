# SPDX-License-Identifier: Apache-2.0
import greeting


def say():
    return greeting.greet()


def square(number):
    return number * number
