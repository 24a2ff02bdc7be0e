"""Everything around the method: devices, run folder, checkpoints, progress, planning."""
