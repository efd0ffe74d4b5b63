"""Child processes: how they are started or forked, limited, talked to, and ended.

    start.py           a program in a fresh process with one end of a socket pair, or in a group of its own
    forked.py          a function in a forked process: without a result, or with results and a time limit
    fork_server.py     a process that forks a child for each request, and its clients
    channel.py         whole messages over a socket, with a time limit; encoding.py: what a message may hold
    limits.py          standard streams, inherited descriptors, the parent's death, the end of a group
    pidfd.py           processes by file descriptors, which are never reused as process ids are

What the children do is defined by the packages that start them: `running` and `compiler` for answers and
kernels, `classroom` for graders, judges and sandboxes. Nothing here depends on them. Nothing here confines
either: the sandbox's layers are in flashlearn.classroom.sandbox.
"""
