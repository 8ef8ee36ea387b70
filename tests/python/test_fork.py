"""After a fork the child may not use a device that its parent used; exits with work in flight are clean."""

from __future__ import annotations

FORKED = """
import os, sys, torch
x = torch.ones(3, device="spyre")
y = x + 1
child = os.fork()
if child == 0:
    assert torch.spyre._is_in_bad_fork()
    calls = (lambda: torch.ones(3, device="spyre"), lambda: x + 1, lambda: x.cpu(), torch.spyre.synchronize, y.tolist)
    for use in calls:
        try:
            use()
        except RuntimeError as error:
            assert "fork" in str(error) and "spawn" in str(error), error
        else:
            os._exit(3)
    del x, y
    sys.exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
print(y.tolist())
"""


def test_a_forked_child_gets_an_error_and_ends(run_python):
    child = run_python(FORKED, timeout=120)
    assert child.stdout.strip() == "[2.0, 2.0, 2.0]", child.stderr


def test_forked_data_loader_workers_leave_the_device_alone(run_python):
    code = (
        "import torch\n"
        "x = torch.ones(3, device='spyre')\n"
        "data = torch.utils.data.TensorDataset(torch.arange(8.0))\n"
        "loader = torch.utils.data.DataLoader(data, batch_size=4, num_workers=2)\n"
        "print(sum((batch[0].to('spyre') + x[0]).sum().item() for batch in loader))"
    )
    child = run_python(code, timeout=120)
    assert child.stdout.strip() == "36.0", child.stderr


def test_workers_send_tensors_of_a_card_of_their_own(run_python):
    code = """
import pickle, torch
from multiprocessing.reduction import ForkingPickler

class Tens(torch.utils.data.Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, i):
        return torch.full((3,), 10.0 * i, device="spyre")

for batch in torch.utils.data.DataLoader(Tens(), batch_size=2, num_workers=1):
    print(batch.device, batch.sum().item())
x = torch.arange(6.0, device="spyre").reshape(2, 3)
both = pickle.loads(ForkingPickler.dumps([x, x[1], torch.ones(0, device="spyre")]))
both[0].mul_(2)
print(both[1].tolist(), x.sum().item(), both[2].device)
"""
    child = run_python(code, timeout=120)
    assert child.stdout.splitlines() == ["spyre:0 30.0", "spyre:0 150.0", "[6.0, 8.0, 10.0] 15.0 spyre:0"], child.stderr


def test_spawn_works(run_python, tmp_path):
    script = tmp_path / "spawned.py"
    script.write_text(
        "import torch, torch.multiprocessing as mp\n"
        "def work(i): assert torch.ones(3, device='spyre').sum().item() == 3\n"
        "if __name__ == '__main__':\n"
        "    torch.ones(3, device='spyre')\n"
        "    mp.spawn(work, nprocs=1)\n"
        "    print('done')\n"
    )
    child = run_python(f"import runpy; runpy.run_path({str(script)!r}, run_name='__main__')", timeout=120)
    assert child.stdout.strip() == "done", child.stderr


def test_exit_with_work_in_flight(run_python):
    code = (
        "import torch\n"
        "host = torch.ones(1 << 20).pin_memory()\n"
        "x = host.to('spyre', non_blocking=True)\n"
        "for _ in range(30): x = x * 1.01\n"
        "torch.spyre.Stream().record_event()\n"
    )
    child = run_python(code, timeout=120)
    assert (child.returncode, child.stderr) == (0, "")
