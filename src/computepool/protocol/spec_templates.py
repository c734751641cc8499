"""Small job specs to begin with, for pages and guides."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SpecTemplate:
    name: str
    title: str
    description: str
    yaml: str


TEMPLATES = (
    SpecTemplate(
        "command",
        "A command",
        "One command in the node's default sandbox, with Python from the node.",
        """\
name: hello
run: python3 -c 'print(6 * 7)'
max_runtime: 5m
""",
    ),
    SpecTemplate(
        "container",
        "A container on a GPU",
        "A container image with PyTorch on one card with at least 16 GB, and a file as its output.",
        """\
name: gpu-container
image: pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime
resources:
  gpu: 16GB..
  cpus: 4
  memory: 16GB
  disk: 40GB
run: |
  nvidia-smi
  python -c 'import torch; print(torch.cuda.get_device_name())' | tee $COMPUTEPOOL_OUTPUT/card.txt
max_runtime: 30m
""",
    ),
    SpecTemplate(
        "sweep",
        "A sweep in parallel slices",
        "Eight slices, each with its own number in COMPUTEPOOL_SLICE. A failed slice is tried once more.",
        """\
name: sweep
image: python:3.12-slim
slices: 8
retries: 1
resources:
  cpus: 2
  memory: 4GB
run: |
  python - <<'END' > $COMPUTEPOOL_OUTPUT/result.txt
  import os
  part, parts = int(os.environ["COMPUTEPOOL_SLICE"]), int(os.environ["COMPUTEPOOL_SLICES"])
  rates = [10 ** -(1 + step / 10) for step in range(40)]
  print(rates[part::parts])
  END
max_runtime: 1h
""",
    ),
    SpecTemplate(
        "training",
        "Training with checkpoints",
        "A long run that saves its progress and goes on after an interruption. Send your code as a bundle.",
        """\
name: train
image: pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime
workdir: .
setup: pip install -r requirements.txt
resources:
  gpu: 24GB..
  cpus: 8
  memory: 32GB
  disk: 60GB
run: python train.py --checkpoints ckpt --out out
checkpoint:
  path: ckpt
  every: 10m
outputs:
  - out/**
preemptible: true
max_runtime: 12h
retries: 2
""",
    ),
    SpecTemplate(
        "verified",
        "A result that is checked",
        "A deterministic job that runs at two different owners; their outputs are compared byte by byte.",
        """\
name: checked
deterministic: true
verify:
  replicas: 2
run: |
  python3 -c 'print(sum(n * n for n in range(10 ** 7)))' > $COMPUTEPOOL_OUTPUT/sum.txt
max_runtime: 15m
""",
    ),
)
