import pytest
from agent.xid import parse

LINES = {
    79: "NVRM: Xid (PCI:0000:9d:00): 79, pid=0, name=x, GPU has fallen off the bus.",
    119: "NVRM: Xid (PCI:0000:9d:00): 119, pid=1, name=x, Timeout after 6s of waiting for RPC response from GPU0 GSP!",
    154: "NVRM: Xid (PCI:0000:9d:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)",
}

@pytest.mark.parametrize('code', sorted(LINES))
def test_parse(code):
    assert parse(LINES[code]).code == code
