from sluicegate.protocols.delta_sharing.response import VERSION_HEADER, SharingResponse


async def test_complete_lines_are_one_part_of_the_stream() -> None:
    response = SharingResponse.whole({VERSION_HEADER: "3"}, b"a\nb\n")
    assert response.headers == {"Delta-Table-Version": "3"}
    assert response.body == b"a\nb\n"
    assert [part async for part in response.lines] == [b"a\nb\n"]


async def test_the_stream_of_complete_lines_ends() -> None:
    response = SharingResponse.whole({}, b"")
    assert [part async for part in response.lines] == [b""]
    assert [part async for part in response.lines] == []
