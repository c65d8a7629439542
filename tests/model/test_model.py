"""A few thousand decisions with fixed seeds, over all levels; $RINGWALL_DECISIONS is another number."""
import os

import pytest

import model

DECISIONS = int(os.environ.get('RINGWALL_DECISIONS') or 3000)
SHARES = {'strict': 0.4, 'maximum': 0.2, 'standard': 0.4}
SEEDS = {'strict': 1_000_000, 'maximum': 2_000_000, 'standard': 3_000_000}


@pytest.mark.parametrize('level', SHARES)
def test_box_decides_as_its_plan_does(level, tmp_path, capsys):
    wanted = int(DECISIONS * SHARES[level])
    counts, reports = model.search(SEEDS[level], level, wanted, str(tmp_path))
    with capsys.disabled():
        print(f' {dict(counts)}', end=' ')
    assert not reports, '\n\n'.join(reports)
    assert counts['decisions'] >= wanted
    assert counts['denied'] > wanted / 50
    assert counts['succeeded'] > wanted / 20    # with fewer successful operations the test would prove little
    assert counts['refused'] < counts['cases'] / 2
