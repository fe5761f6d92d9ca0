# SPDX-License-Identifier: Apache-2.0
"""Make the wheel of a package `greeting` with a program of that name, as a build tool would."""
import os
import sys
import zipfile

MODULE = ("def greet():\n    return 'hello from a package'\n\n\n"
          "def main():\n    print(greet())\n")
INFO = "greeting-1.0.dist-info/"
FILES = {
    "greeting.py": MODULE,
    INFO + "METADATA": "Metadata-Version: 2.1\nName: greeting\nVersion: 1.0\n",
    INFO + "WHEEL": ("Wheel-Version: 1.0\nGenerator: day\nRoot-Is-Purelib: true\n"
                     "Tag: py3-none-any\n"),
    INFO + "entry_points.txt": "[console_scripts]\ngreeting = greeting:main\n",
}

os.mkdir(sys.argv[1])
with zipfile.ZipFile(os.path.join(sys.argv[1], "greeting-1.0-py3-none-any.whl"), "w") as wheel:
    for path, text in FILES.items():
        wheel.writestr(path, text)
    wheel.writestr(INFO + "RECORD", "".join(f"{path},,\n" for path in (*FILES, INFO + "RECORD")))
