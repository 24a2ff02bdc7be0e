"""Batched augmentations on the device."""
