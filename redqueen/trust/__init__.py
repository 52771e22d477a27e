"""What stands between this process and what others wrote: names that lead to code, and links in folders."""
