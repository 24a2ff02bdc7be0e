"""Everything around the method: devices, run folder, checkpoints, progress, time budget."""
