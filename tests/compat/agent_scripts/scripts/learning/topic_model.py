import re
from collections import Counter

import nltk
from nltk.stem import PorterStemmer
from nltk.tokenize import RegexpTokenizer
from sklearn.decomposition import LatentDirichletAllocation, TruncatedSVD
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer

docs = [
    'The cat sat on the mat while another cat chased mice',
    'Dogs and cats are popular pets; dogs need walks',
    'Stocks fell as the market reacted to bank rates',
    'The bank raised rates and the stock market dropped',
    'Pets like dogs, cats and hamsters need food',
    'Investors sold bank stocks in a falling market',
]
stemmer, tokenizer = PorterStemmer(), RegexpTokenizer(r'[A-Za-z]+')


def analyze(text: str) -> list[str]:
    return [stemmer.stem(t) for t in tokenizer.tokenize(text.lower()) if len(t) > 3]


vec = CountVectorizer(analyzer=analyze, min_df=2)
counts = vec.fit_transform(docs)
print(vec.get_feature_names_out().tolist())
print(counts.toarray())
lda = LatentDirichletAllocation(2, random_state=0, max_iter=20).fit(counts)
topics = lda.transform(counts).argmax(1)
print(
    'same topic for pets:',
    len({int(topics[i]) for i in (1, 4)}) == 1,
    'money:',
    len({int(topics[i]) for i in (2, 3, 5)}) == 1,
)
lsa = TruncatedSVD(2, random_state=0).fit(TfidfTransformer().fit_transform(counts))
print(lsa.explained_variance_ratio_.round(4))
print(HashingVectorizer(n_features=16, norm=None, alternate_sign=False).transform(docs[:1]).toarray().astype(int))
print(DictVectorizer(sparse=False).fit_transform([{'a': 1, 'b': 'x'}, {'a': 3}]))
print(
    Counter(re.findall(r'\w+', ' '.join(docs).lower())).most_common(4), nltk.FreqDist(analyze(docs[1])).most_common(2)
)
print(
    list(nltk.bigrams('a b c'.split())),
    nltk.edit_distance('kitten', 'sitting'),
    round(nltk.jaccard_distance({1, 2}, {2, 3}), 4),
)
try:
    nltk.word_tokenize('Hello world.')
except LookupError as e:
    print('LookupError', [line.strip() for line in str(e).splitlines() if 'Resource' in line])
nltk.corpus.stopwords.words('english')
