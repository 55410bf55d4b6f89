from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.metrics import ConfusionMatrixDisplay, f1_score, precision_recall_fscore_support
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import Pipeline

spam = [
    'win a free prize now',
    'cheap pills, buy now!',
    'You WON $1000 click here',
    'free money free money',
    'claim your prize today',
]
ham = [
    'meeting at noon tomorrow',
    'see the attached report',
    'lunch today?',
    'can you review my code',
    'the project deadline moved',
]
texts, labels = spam + ham, ['spam'] * 5 + ['ham'] * 5
vec = CountVectorizer(stop_words='english', ngram_range=(1, 2), max_features=12)
counts = vec.fit_transform(texts)
print(vec.get_feature_names_out(), counts.shape, counts.nnz)
print(counts[:2])
print(repr(counts))
clf = Pipeline([('tfidf', TfidfVectorizer(lowercase=True)), ('nb', MultinomialNB(alpha=0.5))]).fit(texts, labels)
new = ['free prize waiting', 'report for the meeting', 'zzz']
for text, p in zip(new, clf.predict_proba(new), strict=True):
    print(f'{text!r}: {dict(zip(clf.classes_.tolist(), p.round(4).tolist(), strict=True))}')
pred = clf.predict(texts)
print(
    round(f1_score(labels, pred, pos_label='spam'), 4),
    precision_recall_fscore_support(labels, pred, average='macro')[:2],
)
tfidf = clf['tfidf'].transform(texts)
print(cosine_similarity(tfidf[0], tfidf[1:5]).round(5))
top = clf['tfidf'].get_feature_names_out()[
    (clf['nb'].feature_log_prob_[1] - clf['nb'].feature_log_prob_[0]).argsort(kind='stable')[::-1][:4]
]
print(top)
ConfusionMatrixDisplay.from_predictions(labels, pred).figure_.savefig('cm.png')
try:
    f1_score(labels, pred)
except ValueError as e:
    print('ValueError:', e)
try:
    CountVectorizer(stop_words='english').fit(['the of and'])
except ValueError as e:
    print('ValueError:', e)
TfidfVectorizer().transform(texts)
