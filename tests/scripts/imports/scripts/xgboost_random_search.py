"""RandomizedSearchCV over a pipeline with XGBClassifier."""

from scipy.stats import randint, uniform
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import RandomizedSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=42)
prepare = ColumnTransformer(
    [("num", make_pipeline(SimpleImputer(), StandardScaler()), list(X.columns))]
)
model = make_pipeline(prepare, XGBClassifier(n_estimators=25, eval_metric="logloss"))
search = RandomizedSearchCV(
    model,
    {
        "xgbclassifier__max_depth": randint(2, 6),
        "xgbclassifier__learning_rate": uniform(0.05, 0.3),
        "xgbclassifier__subsample": uniform(0.6, 0.4),
    },
    n_iter=4,
    cv=3,
    scoring="roc_auc",
    random_state=0,
)
search.fit(X_train, y_train)
print("score cv", search.best_score_)
print("score auc", search.score(X_test, y_test))
print("same parameters", *sorted(search.best_params_))
