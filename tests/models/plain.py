"""Networks written with torch.nn alone."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    """Two convolutions and a way around them."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.first_norm = nn.BatchNorm2d(outputs)
        self.second = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.second_norm = nn.BatchNorm2d(outputs)
        self.around = nn.Conv2d(inputs, outputs, 1, stride, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.relu(self.first_norm(self.first(x)))
        return F.relu(self.second_norm(self.second(y)) + self.around(x))


def resnet() -> nn.Module:
    stem = [nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(
        *stem, Block(8, 8, 1), Block(8, 16, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 5)
    )


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Conv2d(3, 8, 3, padding=1)
        self.bottom = nn.Conv2d(8, 16, 3, padding=1)
        self.up = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.join = nn.Conv2d(16, 8, 3, padding=1)
        self.norm = nn.GroupNorm(2, 8)
        self.out = nn.Conv2d(8, 1, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        wide = F.silu(self.down(x))
        deep = F.silu(self.bottom(F.max_pool2d(wide, 2)))
        joined = self.join(torch.cat([wide, self.up(deep)], 1))
        return self.out(F.interpolate(F.silu(self.norm(joined)), scale_factor=2, mode="bilinear"))


class Recurrent(nn.Module):
    def __init__(self, kind: type[nn.RNNBase]) -> None:
        super().__init__()
        self.embed = nn.Embedding(300, 16)
        self.layers = kind(16, 24, num_layers=2, batch_first=True)
        self.head = nn.Linear(24, 300)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        return self.head(self.layers(self.embed(words))[0])


class Translator(nn.Module):
    """nn.Transformer over words."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(300, 32)
        self.layers = nn.Transformer(32, 4, 2, 2, 64, dropout=0.0, batch_first=True)
        self.head = nn.Linear(32, 300)

    def forward(self, words: torch.Tensor, answer: torch.Tensor) -> torch.Tensor:
        mask = self.layers.generate_square_subsequent_mask(answer.size(1), device=answer.device)
        return self.head(self.layers(self.embed(words), self.embed(answer), tgt_mask=mask, tgt_is_causal=True))
