"""Search parameters of a pipeline with LightGBM's classifier."""

from lightgbm import LGBMClassifier
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
pipe = Pipeline(
    [
        ("scale", StandardScaler().set_output(transform="pandas")),
        ("model", LGBMClassifier(n_estimators=20, verbose=-1)),
    ]
)
grid = {"model__num_leaves": [4, 8], "model__learning_rate": [0.1, 0.3]}
search = GridSearchCV(pipe, grid, cv=StratifiedKFold(3), scoring="accuracy")
search.fit(X_train, y_train)
print("score cv", search.best_score_)
print("score accuracy", search.score(X_test, y_test))
print("same classes", *search.classes_)
print("same fits", len(search.cv_results_["params"]))
