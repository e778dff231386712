"""Other people's libraries, each in an environment of its own, learning from the same tables.

`registry` lists the rivals, `environments` makes their environments, `process` runs one of them.
The other modules run inside the environments and know nothing of bayesspn: they read a task and
write what came out through `exchange`.
"""
