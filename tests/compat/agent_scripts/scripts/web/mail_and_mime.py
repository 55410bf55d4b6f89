"""Builds a mail with an attachment and reads it."""

import email
import email.policy
from email.message import EmailMessage
from email.utils import format_datetime, formataddr, getaddresses, parsedate_to_datetime

message = EmailMessage()
message['Subject'] = 'Grüße – report'
message['From'] = formataddr(('Ann Ünal', 'ann@example.com'))
message['To'] = 'Bob <bob@example.com>, "C, D" <c@example.com>'
message['Date'] = 'Sat, 01 Mar 2025 10:00:00 +0100'
message.set_content('Hello,\nsee below – é.\n')
message.add_alternative('<p>Hello</p>', subtype='html')
message.add_attachment(b'a,b\n1,2\n', maintype='text', subtype='csv', filename='dätä.csv')
message.make_mixed() if not message.is_multipart() else None
raw = message.as_bytes(policy=email.policy.SMTP)
again = email.message_from_bytes(raw, policy=email.policy.default)
print(
    again['subject'],
    again['from'].addresses[0].display_name,
    [a.addr_spec for a in again['to'].addresses],
    again['date'].datetime,
)
for part in again.walk():
    print(
        part.get_content_type(),
        part.get_filename(),
        part.is_multipart() or part.get_content(),
        part.get('Content-Transfer-Encoding'),
    )
print(again.get_body(('html',)).get_content(), [a.get_filename() for a in again.iter_attachments()])
print(getaddresses(['x <x@y>, z@w']), format_datetime(parsedate_to_datetime('Mon, 20 Nov 1995 19:12:08 -0500')))
print(email.header.decode_header('=?utf-8?q?Gr=C3=BC=C3=9Fe?= plain'), message.as_string()[:40].splitlines()[0])
try:
    message['To'] = 'second@example.com'
except ValueError as error:
    print(error)
