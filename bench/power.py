# SPDX-License-Identifier: Apache-2.0
"""A disk whose power can be cut: an ext4 in a file, mounted through a loop device.

  power.py mount IMAGE DIR   makes the image if it is not there, and mounts it
  power.py cut DIR           from now on nothing reaches the image, not even the journal
  power.py unmount DIR

Exit status 77: this machine does not let us, and stderr says why.
"""
import fcntl
import os
import struct
import subprocess
import sys

EXT4_IOC_SHUTDOWN = 0x8004587D
NO_LOG_FLUSH = 2
IMAGE_BYTES = 512 << 20


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"power: {' '.join(command)}: {done.stderr.strip()}", file=sys.stderr)
        sys.exit(77)


def mount(image, folder):
    if not os.path.exists(image):
        with open(image, "wb") as file:
            file.truncate(IMAGE_BYTES)
        run("mkfs.ext4", "-q", "-F", image)
    os.makedirs(folder, exist_ok=True)
    run("mount", "-o", "loop", image, folder)


def cut(folder):
    fd = os.open(folder, os.O_RDONLY)
    try:
        fcntl.ioctl(fd, EXT4_IOC_SHUTDOWN, struct.pack("I", NO_LOG_FLUSH))
    except OSError as error:
        print(f"power: {folder}: {error.strerror}", file=sys.stderr)
        sys.exit(77)
    finally:
        os.close(fd)


def main(argv):
    actions = {"mount": (mount, 2), "cut": (cut, 1), "unmount": (lambda folder: run("umount", folder), 1)}
    action, count = actions.get(argv[0] if argv else "", (None, 0))
    if action is None or len(argv) != count + 1:
        print(__doc__, file=sys.stderr)
        return 2
    action(*argv[1:])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
