import json
import logging
import logging.config
import logging.handlers
import sys
from pathlib import Path


class JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        data = {
            'level': record.levelname,
            'logger': record.name,
            'message': record.getMessage(),
            'line': record.funcName,
        }
        if record.exc_info:
            data['error'] = repr(record.exc_info[1])
        return json.dumps(data)


logging.config.dictConfig(
    {
        'version': 1,
        'formatters': {
            'plain': {'format': '%(levelname)-8s %(name)s:%(funcName)s %(message)s'},
            'json': {'()': JsonFormatter},
        },
        'handlers': {
            'out': {
                'class': 'logging.StreamHandler',
                'stream': 'ext://sys.stdout',
                'formatter': 'plain',
                'level': 'INFO',
            },
            'file': {
                'class': 'logging.handlers.RotatingFileHandler',
                'filename': 'app.log',
                'maxBytes': 300,
                'backupCount': 2,
                'formatter': 'json',
            },
        },
        'loggers': {'audit': {'handlers': ['file'], 'propagate': False}},
        'root': {'level': 'DEBUG', 'handlers': ['out', 'file']},
    }
)
log = logging.getLogger('shop.cart')


def checkout(items: int) -> float:
    log.debug('items=%d', items)
    try:
        return 100 / items
    except ZeroDivisionError:
        log.exception('checkout failed for %s', items, exc_info=False)
        logging.getLogger('audit').error('with traceback', exc_info=True)
        return 0.0


for n in (4, 0):
    log.info('total %.2f', checkout(n))
log.warning('dict style %(a)s', {'a': 1}, stacklevel=1)
logging.getLogger('shop').setLevel(logging.ERROR)
log.warning('suppressed')
logging.captureWarnings(True)
memory = logging.handlers.MemoryHandler(10, flushLevel=logging.CRITICAL, target=logging.StreamHandler(sys.stdout))
log.addHandler(memory)
log.critical('bye %s', 'now')
logging.shutdown()
print(sorted(p.name for p in Path().glob('app.log*')), Path('app.log').read_text().splitlines()[-1])
logging.getLogger('new').log(25, 'custom %s', logging.getLevelName(25))
sys.exit(3)
