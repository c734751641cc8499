"""Whether the network in use is a metered one."""

from computepool.agent.owner.readings import Unknown
from computepool.agent.owner.signals.machine import Machine


def read_metered(machine: Machine) -> bool | Unknown:
    if machine.platform != "linux":
        return Unknown("this system does not tell")
    answer = machine.ask("nmcli", "-t", "-f", "GENERAL.STATE,GENERAL.METERED", "dev", "show")
    if isinstance(answer, Unknown):
        return answer
    verdicts = []
    for block in answer.strip().split("\n\n"):
        values = dict(line.split(":", 1) for line in block.splitlines() if ":" in line)
        # 100 is connected. `yes (guessed)` is a phone's, by the look of it.
        if values.get("GENERAL.STATE", "").startswith("100"):
            verdicts.append(values.get("GENERAL.METERED", "").split(" ")[0].lower())
    if "yes" in verdicts:
        return True
    return False if "no" in verdicts else Unknown("NetworkManager does not know")
