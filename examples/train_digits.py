#!/usr/bin/env python3
"""Trains a small convolutional network on scikit-learn's handwritten digits, on the card and on CPU.

A plain PyTorch loop: DataLoader, cross entropy, AdamW, a learning-rate schedule. Nothing in it knows the device but
the string.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

import torch
from report import observed, print_report
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from tqdm import tqdm

BATCH = 64
REQUIRED_ACCURACY = 0.97


@dataclass
class Digits:
    """8 x 8 grey images, scaled to [0, 1], and their labels, on CPU."""

    train: TensorDataset
    test: TensorDataset


def load() -> Digits:
    data = load_digits()
    images = torch.tensor(data.images, dtype=torch.float32).unsqueeze(1) / 16
    labels = torch.tensor(data.target, dtype=torch.int64)
    train, test = train_test_split(range(len(labels)), test_size=0.25, random_state=0, stratify=data.target)
    return Digits(TensorDataset(images[train], labels[train]), TensorDataset(images[test], labels[test]))


def network() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.2),
        nn.Linear(32 * 4 * 4, 64),
        nn.GELU(),
        nn.Linear(64, 10),
    )


def accuracy(model: nn.Module, data: TensorDataset, device: str) -> float:
    model.eval()
    right = 0
    with torch.inference_mode():
        for images, labels in DataLoader(data, batch_size=256):
            guesses = model(images.to(device)).argmax(dim=1)
            right += (guesses == labels.to(device)).sum().item()
    return right / len(data)


def train_on(device: str, data: Digits, epochs: int) -> float:
    """Accuracy on the test set after `epochs`. The same seed gives the same start and the same batches everywhere."""
    torch.manual_seed(0)
    model = network().to(device)
    loader = DataLoader(data.train, batch_size=BATCH, shuffle=True, generator=torch.Generator().manual_seed(0))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    with tqdm(total=epochs * len(loader), desc=f"training on {device}", unit="step") as progress:
        for _ in range(epochs):
            model.train()
            total = torch.zeros((), device=device)
            for images, labels in loader:
                loss = nn.functional.cross_entropy(model(images.to(device)), labels.to(device))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                total += loss.detach()
                progress.update()
            schedule.step()
            progress.set_postfix(loss=f"{total.item() / len(loader):.3f}")
    return accuracy(model, data.test, device)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="spyre")
    parser.add_argument("--epochs", type=int, default=12)
    arguments = parser.parse_args()

    data = load()
    # The first optimizer of a process imports a second's worth of PyTorch, which no device spends.
    torch.optim.AdamW(network().parameters())
    reached, seconds, stats = observed(
        arguments.device, "train_digits", lambda: train_on(arguments.device, data, arguments.epochs)
    )
    on_cpu, cpu_seconds, _ = observed("cpu", "train_digits", lambda: train_on("cpu", data, arguments.epochs))
    checks = [
        ("images", f"{len(data.train):,} to train on, {len(data.test):,} to test with"),
        ("test accuracy", f"{reached:.2%} (required {REQUIRED_ACCURACY:.0%})"),
        ("test accuracy on CPU", f"{on_cpu:.2%}"),
    ]
    times = {arguments.device: seconds, "CPU": cpu_seconds}
    print_report(f"Training on {arguments.device}", "train_digits", times, checks, stats)
    return 0 if reached >= REQUIRED_ACCURACY else 1


if __name__ == "__main__":
    sys.exit(main())
