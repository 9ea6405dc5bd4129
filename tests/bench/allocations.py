# SPDX-License-Identifier: MIT
"""What counting allocations costs: ns for a malloc of 64 bytes and its free, by allocator and by what is asked."""
import os
import subprocess

LIBRARIES = "/usr/lib/x86_64-linux-gnu/"
ALLOCATORS = [
    ("glibc", None),
    ("jemalloc", LIBRARIES + "libjemalloc.so.2"),
    ("tcmalloc", LIBRARIES + "libtcmalloc_minimal.so.4"),
    ("mimalloc", LIBRARIES + "libmimalloc.so.2.0"),
]
WAYS = [
    ("nobody", None),
    ("alloc", ["-m", "alloc"]),
    ("heap", ["-m", "heap"]),
    ("sample 512K", ["-m", "heap", "--alloc-sample", "512K"]),
]


def pair_ns(output, cpu, library, options, rounds):
    command = [os.path.join(output, "bench", "bench_alloc"), str(cpu), str(rounds)]
    environment = dict(os.environ, LD_PRELOAD=library) if library else os.environ
    if library and options is not None:
        command = ["env", "LD_PRELOAD=" + library, *command]
        environment = os.environ
    if options is not None:
        command = [os.path.join(output, "spantrace"), "-q", "-o", "json:/dev/null", *options, "--", *command]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    return float(done.stdout)


def print_allocations(output, cpu, quick):
    print("\nns a malloc and its free, min " + "".join(f"{name:>14}" for name, _ in WAYS))
    for name, library in ALLOCATORS:
        if library and not os.path.exists(library):
            print(f"left out: {name}, which is not installed")
            continue
        cells = [pair_ns(output, cpu, library, options, 10 if quick else 40) for _, options in WAYS]
        print(f"{name:<30}" + "".join(f"{cell:>11.0f} ns" for cell in cells))
