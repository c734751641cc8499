"""The picture of a thunderstorm is what the hub's own code does, and it is gentle."""

from computepool.hub.market.spot import PACE_PER_HOUR
from tools.storm import OFF_MINUTE, ON_MINUTE, PICTURE, draw, play


def test_picture_is_current() -> None:
    assert draw(play()) == PICTURE.read_text(), "draw it anew: ./dev run python -m tools.storm"


def test_storm_moves_spot_by_no_more_than_its_pace_and_it_returns() -> None:
    spots = [minute.spot for minute in play()]
    for start in range(len(spots) - 60):
        assert abs(spots[start + 60] - spots[start]) <= PACE_PER_HOUR + 0.02  # published in hundredths
    assert spots[OFF_MINUTE - 1] == 1.0
    assert max(spots[OFF_MINUTE:ON_MINUTE]) > 1.5
    assert spots[-1] == 1.0
