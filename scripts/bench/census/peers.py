"""Trains on the Adult data set as it is, by scikit-learn or XGBoost: MODEL TRAIN TEST. Prints the metrics of the test
file as JSON. The settings are the libraries' defaults, but for what the comments say."""
import json
import sys
import warnings

import pandas
from sklearn.metrics import log_loss, roc_auc_score

COLUMNS = (
    "age workclass fnlwgt education education-num marital-status occupation relationship race sex capital-gain"
    " capital-loss hours-per-week native-country income"
).split()
NUMBERS = ["age", "education-num", "capital-gain", "capital-loss", "hours-per-week"]

model, train_path, test_path = sys.argv[1:]
warnings.filterwarnings("ignore")


def read(path):
    table = pandas.read_csv(path, names=COLUMNS, skipinitialspace=True, na_values="?", comment="|")
    # As the jobs do: fnlwgt is a weight of the census, and the test file writes its labels with a point.
    label = table.pop("income").str.startswith(">50K").astype(int)
    return table.drop(columns="fnlwgt"), label


train, train_label = read(train_path)
test, test_label = read(test_path)
categories = [name for name in train.columns if name not in NUMBERS]

if model == "logistic-regression":
    from sklearn.compose import ColumnTransformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    columns = ColumnTransformer(
        [("numbers", StandardScaler(), NUMBERS), ("categories", OneHotEncoder(handle_unknown="ignore"), categories)]
    )
    # 100 iterations, the default, end before it has converged.
    classifier = make_pipeline(columns, LogisticRegression(max_iter=1000))
elif model == "xgboost":
    from xgboost import XGBClassifier

    for name in categories:
        train[name] = train[name].astype("category")
        test[name] = test[name].astype(train[name].dtype)
    # Categories need this tree method. The default learning rate, 0.3, overfits here.
    classifier = XGBClassifier(tree_method="hist", enable_categorical=True, learning_rate=0.1, n_estimators=200)
else:
    raise SystemExit(f"expected logistic-regression or xgboost, got {model}")

classifier.fit(train, train_label)
scores = classifier.predict_proba(test)[:, 1]
print(json.dumps({"auc": roc_auc_score(test_label, scores), "logloss": log_loss(test_label, scores)}))
