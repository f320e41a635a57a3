"""RandomizedSearchCV over a pipeline with a ColumnTransformer."""

import pandas as pd
from scipy.stats import loguniform, randint
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_svmlight_file
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import RandomizedSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

X, y = load_svmlight_file("categorical.libsvm.gz", zero_based=True)
df = pd.DataFrame(X[:3000].toarray()).rename(columns="c{}".format)
for name in ("c6", "c7"):
    df[name] = ("level " + df[name].astype(int).astype(str)).astype(object)
X_train, X_test, y_train, y_test = train_test_split(df, y[:3000], random_state=0)
encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, max_categories=50)
prepare = make_column_transformer(
    (encoder, make_column_selector(dtype_exclude="number")), remainder="passthrough"
)
model = make_pipeline(prepare, HistGradientBoostingClassifier(max_iter=30, early_stopping=False))
search = RandomizedSearchCV(
    model,
    {
        "histgradientboostingclassifier__learning_rate": loguniform(0.05, 0.2),
        "histgradientboostingclassifier__max_leaf_nodes": randint(5, 15),
    },
    n_iter=3,
    cv=3,
    scoring="roc_auc",
    random_state=0,
).fit(X_train, y_train)
print("score cv", search.best_score_)
print("score auc", search.score(X_test, y_test))
