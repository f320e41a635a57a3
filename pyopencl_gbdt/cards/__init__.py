"""Reports of cards: whether a device trains as all others do, and how fast.

A driver may crash or hang the process that uses it. So a worker, a process of its own, takes the
steps, and another worker goes on behind a step that fails. The file is written after each step.

    steps ──► collect ──► worker: trainings (20 digests), shapes (rounds) ──► report ──► a file
                  └────── the doctor's self-test ──────────────────────────────┘
"""
