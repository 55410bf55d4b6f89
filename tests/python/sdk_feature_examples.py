"""Examples that are about resources, prompts, lists in pages, and what a server sends or asks its client.

Every coroutine function without parameters is a case, named as its example; `sdk_examples.py` runs them.
"""

from __future__ import annotations

from typing import Any

import anyio
from mcp import ClientSession

from harness import PATIENCE, SDK_MAJOR, plain, text_of
from sdk_connections import FORMS, LOGS, PAGES, call, stdio


async def prompts() -> None:
    async with stdio('prompts') as session:
        listed = {prompt['name']: prompt for prompt in plain(await session.list_prompts())['prompts']}
        assert listed['review_code']['arguments'] == [
            {'name': 'code', 'description': 'The code.', 'required': True},
            {'name': 'language', 'description': 'The language it is written in.', 'required': False},
        ], listed
        (message,) = plain(await session.get_prompt('review_code', {'code': 'x = 1'}))['messages']
        assert message['content']['text'] == 'Please review this code:\n\nx = 1', message
        messages = plain(await session.get_prompt('debug_error', {'error': 'boom', 'attempts': '3'}))['messages']
        assert [message['role'] for message in messages] == ['user', 'user', 'assistant'], messages
        assert 'besides those 3' in messages[2]['content']['text'], messages
        for arguments in [{}, {'error': 'boom', 'attempts': 'many'}]:
            try:
                await session.get_prompt('debug_error', arguments)
            except Exception as error:
                assert 'debug_error' in str(error), error
            else:
                raise AssertionError(f'{arguments} should have been refused')
        reference = {'type': 'ref/prompt', 'name': 'review_code'}
        if SDK_MAJOR >= 2:
            from mcp_types import PromptReference
        else:
            from mcp.types import PromptReference
        completed = plain(await session.complete(PromptReference(**reference), {'name': 'language', 'value': 'P'}))
        assert completed['completion']['values'] == ['Perl', 'Prolog', 'Python'], completed


async def resources() -> None:
    async with stdio('resources') as session:
        (resource,) = plain(await session.list_resources())['resources']
        assert resource['uri'] == 'config://app' and resource['mimeType'] == 'text/plain', resource
        (contents,) = plain(await session.read_resource('config://app'))['contents']
        assert contents['text'] == 'App configuration here', contents
        (contents,) = plain(await session.read_resource('users://7/profile'))['contents']
        assert contents['text'] == 'Profile data for user 7', contents
        for unknown in ['users://77/profile', 'users://ada/profile']:
            try:
                await session.read_resource(unknown)
            except Exception as error:
                assert 'user' in str(error), error
            else:
                raise AssertionError(f'{unknown} should not have been found')


async def long_task() -> None:
    async with stdio('long_task') as session:
        seen: list[tuple[float, float | None]] = []

        async def progress(done: float, total: float | None, message: str | None) -> None:
            seen.append((done, total))

        arguments = {'files': ['a.txt', 'b.txt']}
        result = plain(await session.call_tool('long_task', arguments, progress_callback=progress))
        assert text_of(result) == 'Processing complete: 42 bytes', result
        with anyio.fail_after(PATIENCE):
            while seen != [(1, 2), (2, 2)] or LOGS != ['Processing a.txt', 'Processing b.txt']:
                await anyio.sleep(0.01)
        failed = await call(session, 'long_task', files=['c.txt'])
        assert failed['isError'] and 'no file c.txt' in text_of(failed), failed


async def low_level_prompt() -> None:
    async with stdio('low_level_prompt') as session:
        (prompt,) = plain(await session.list_prompts())['prompts']
        assert prompt['name'] == 'example-prompt', prompt
        assert prompt['arguments'] == [{'name': 'arg1', 'description': 'Example argument', 'required': True}], prompt
        found = plain(await session.get_prompt('example-prompt', {'arg1': 'value'}))
        assert found['description'] == 'Example prompt', found
        assert found['messages'][0]['content']['text'] == 'Example prompt text', found
        try:
            await session.get_prompt('other', {})
        except Exception as error:
            assert 'Unknown prompt: other' in str(error), error
        else:
            raise AssertionError('an unknown prompt should have been refused')


async def elicitation() -> None:
    async with stdio('elicitation') as session:
        ask = {'date': '2026-12-25', 'party_size': 4}
        for content, says in [
            ({'check_alternative': True, 'alternative_date': '2026-12-27'}, 'Booked for 2026-12-27'),
            ({'check_alternative': False}, 'No booking made'),
            (None, 'Booking cancelled'),
        ]:
            FORMS.append(content)
            assert says in text_of(await call(session, 'book_table', **ask)), says
        assert 'Booked a table for 4' in text_of(await call(session, 'book_table', date='2026-12-24', party_size=4))
        assert text_of(await call(session, 'pay')) == 'The payment page is open'
        assert PAGES == ['https://pay.example.com/table'], PAGES


async def sampling() -> None:
    async with stdio('sampling') as session:
        assert text_of(await call(session, 'generate_poem', topic='rust')) == (
            'a model on: Write a short poem about rust'
        )


async def notifications() -> None:
    async with stdio('notifications') as session:
        assert text_of(await call(session, 'process_data', data='x')) == 'Processed: x'
        with anyio.fail_after(PATIENCE):
            while LOGS != ["Processing 'x'", 'Starting', 'This is experimental', '(This is just a demo)']:
                await anyio.sleep(0.01)
        (contents,) = plain(await session.read_resource('count://processed'))['contents']
        assert contents['text'] == '1', contents
        await call(session, 'add_more')
        names = [tool['name'] for tool in plain(await session.list_tools())['tools']]
        assert names == ['process_data', 'add_more', 'more'], names
        assert text_of(await call(session, 'more')) == 'done'


async def pagination() -> None:
    async with stdio('pagination') as session:
        found: list[str] = []
        pages, cursor = 0, None
        while pages == 0 or cursor:
            page = plain(await list_page(session, cursor))
            found += [resource['uri'] for resource in page['resources']]
            pages, cursor = pages + 1, page.get('nextCursor')
        assert found == [f'resource://items/{number}' for number in range(1, 101)], found
        assert pages == 10, pages


async def list_page(session: Any, cursor: str | None) -> Any:
    if SDK_MAJOR >= 2 and not isinstance(session, ClientSession):
        return await session.list_resources(cursor=cursor)
    return await session.list_resources(cursor)
