"""A tiny web framework: routes, middleware and WSGI calls without a port."""

import io
import json
import re
from urllib.parse import parse_qs
from wsgiref.util import request_uri, setup_testing_defaults
from wsgiref.validate import validator


class App:
    def __init__(self):
        self.routes = []

    def route(self, pattern, method='GET'):
        regex = re.compile('^' + re.sub(r'<(\w+)>', r'(?P<\1>[^/]+)', pattern) + '$')

        def register(function):
            self.routes.append((method, regex, function))
            return function

        return register

    def __call__(self, environ, start_response):
        path, status, body = environ['PATH_INFO'], '404 Not Found', {'error': 'no such page'}
        for method, regex, function in self.routes:
            if match := regex.match(path):
                if method != environ['REQUEST_METHOD']:
                    status, body = '405 Method Not Allowed', {'allow': method}
                    continue
                try:
                    status, body = '200 OK', function(environ, **match.groupdict())
                except Exception as error:
                    status, body = '500 Internal Server Error', {'error': f'{type(error).__name__}: {error}'}
                break
        data = json.dumps(body).encode()
        start_response(status, [('Content-Type', 'application/json'), ('Content-Length', str(len(data)))])
        return [data]


app = App()


@app.route('/hello/<name>')
def hello(environ, name):
    return {'hello': name, 'query': parse_qs(environ.get('QUERY_STRING', ''))}


@app.route('/sum', 'POST')
def total(environ):
    return sum(json.load(io.TextIOWrapper(environ['wsgi.input'])))


def call(method, path, query='', body=b''):
    environ = {
        'REQUEST_METHOD': method,
        'SCRIPT_NAME': '',
        'PATH_INFO': path,
        'QUERY_STRING': query,
        'wsgi.input': io.BytesIO(body),
        'CONTENT_LENGTH': str(len(body)),
    }
    setup_testing_defaults(environ)
    seen = {}
    result = validator(app)(
        environ, lambda status, headers, exc=None: seen.update(status=status, headers=dict(headers))
    )
    data = b''.join(result)
    result.close()
    print(method, request_uri(environ), seen['status'], seen['headers']['Content-Length'], data.decode())


call('GET', '/hello/ann', 'x=1&x=2')
call('POST', '/sum', body=b'[1, 2, 3.5]')
call('POST', '/sum', body=b'[1, "a"]')
call('POST', '/sum', body=b'{')
call('GET', '/sum')
call('GET', '/nothing')
