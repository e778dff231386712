"""Rows beyond one machine: workers that hold shards, in this process or by Ray."""
