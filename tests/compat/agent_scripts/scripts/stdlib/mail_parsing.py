import email
import email.utils
import mailbox
import mimetypes
from email import policy
from email.header import decode_header, make_header
from email.message import EmailMessage
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText

message = EmailMessage()
message['Subject'] = 'Résumé of the year — 50 % more pages than you expected to read today, honestly'
message['From'] = 'Zoë <zoe@example.com>'
message['To'] = 'bob@example.com, "Smith, Al" <al@example.org>'
message['Date'] = email.utils.format_datetime(email.utils.parsedate_to_datetime('Mon, 06 May 2024 07:08:09 +0200'))
message.set_content('Hello,\n\nplease find the file attached — thanks.\n')
message.add_alternative('<p>Hello</p>', subtype='html')
message.add_attachment(b'a,b\n1,2\n', maintype='text', subtype='csv', filename='täble.csv')
message.set_boundary('=====boundary=====')
for number, part in enumerate(message.walk()):
    if part.is_multipart() and number:
        part.set_boundary('=====inner=====')
raw = message.as_bytes()
print(raw.decode('utf-8'))
parsed = email.message_from_bytes(raw, policy=policy.default)
print(parsed['subject'], [a.addr_spec for a in parsed['to'].addresses], parsed['date'].datetime.isoformat())
for part in parsed.walk():
    print(part.get_content_type(), part.get_filename(), part.get_content_charset())
print(parsed.get_body(('plain',)).get_content().strip(), [a.get_content() for a in parsed.iter_attachments()])
print(
    make_header(decode_header('=?iso-8859-1?q?caf=E9?= latte')),
    email.utils.parseaddr('A B <a@b.c>'),
    email.utils.formataddr(('É', 'e@x.y')),
)
old = MIMEMultipart(boundary='b')
old.attach(MIMEText('naïve', _charset='utf-8'))
print(
    old.as_string(),
    mimetypes.guess_type('x.tar.gz'),
    mimetypes.guess_extension('image/png'),
    mimetypes.guess_type('a.docx')[0],
)
box = mailbox.mbox('inbox.mbox')
box.add(message)
box.flush()
print(len(mailbox.mbox('inbox.mbox')), open('inbox.mbox').readline()[:19])
try:
    message['Subject'] = 'again'
except ValueError as e:
    print(e)
message['To'] = 'evil\nBcc: x@y.z'
