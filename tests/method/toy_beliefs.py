"""A short EM loop on beliefs: its settings, its images with their true classes, a student."""

from dataclasses import replace

import torch
from toy_runs import toy_context, toy_images, toy_profile

from scanmix_cli.method.networks import scanmix_net
from scanmix_cli.method.settings import BeliefSettings, Profile
from scanmix_cli.method.student import Student, make_student

SETTINGS = BeliefSettings(epochs=3, batch_size=16)
CONTEXT_IMAGES = toy_images(96)
TRUTH = (torch.arange(96) % 3).numpy()


def profile(settings: BeliefSettings) -> Profile:
    return replace(toy_profile(1), beliefs=settings)


def student(settings: BeliefSettings = SETTINGS) -> Student:
    context = toy_context()
    return make_student(scanmix_net("small", 3, context), settings, context)
