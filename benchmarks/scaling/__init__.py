"""How fits scale with threads, disks and machines."""
