"""Builds requests without sending them, and a response by hand."""

import httpx
import requests

session = requests.Session()
session.headers['User-Agent'] = 'me/1.0'
session.auth = ('ann', 'secret')
request = session.prepare_request(
    requests.Request(
        'POST', 'http://example.com/api?a=1', params={'b': ['x y', 2]}, json={'k': [1, None]}, cookies={'c': 'd'}
    )
)
print(request.method, request.url, request.body, dict(sorted(request.headers.items())))
form = requests.Request('PUT', 'https://h/x', data={'a': 'é', 'b': 2}).prepare()
print(form.body, form.headers['Content-Type'], form.headers['Content-Length'])
response = requests.Response()
response.status_code, response._content, response.url = 404, '{"é": 1}'.encode(), 'http://h/missing'
response.headers['Content-Type'], response.reason = 'application/json; charset=utf-8', 'Not Found'
print(response, response.ok, response.json(), response.text, response.encoding, response.links)
try:
    response.raise_for_status()
except requests.HTTPError as error:
    print(type(error).__name__, error)
for url in ('example.com', 'http://', 'ftp://x'):
    try:
        session.get(url)
    except requests.RequestException as error:
        print(type(error).__name__, str(error)[:60])


def handle(request):
    if request.url.path == '/old':
        return httpx.Response(302, headers={'location': '/new'})
    return httpx.Response(
        200, json={'path': request.url.path, 'query': dict(request.url.params), 'ua': request.headers['user-agent'][:5]}
    )


with httpx.Client(
    transport=httpx.MockTransport(handle), base_url='http://api.example', follow_redirects=True
) as client:
    answer = client.get('/old', params={'x': 1})
    print(
        answer.status_code,
        answer.json(),
        [str(h.url) for h in answer.history],
        answer.headers['content-type'],
        answer.is_success,
    )
url = httpx.URL('https://example.com/a b?x=1')
print(
    url,
    url.copy_with(path='/z'),
    url.join('../q'),
    httpx.codes.IM_A_TEAPOT,
    httpx.Headers([('A', '1'), ('a', '2')]).get_list('a'),
)
