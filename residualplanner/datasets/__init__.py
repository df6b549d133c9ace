"""Data that ship with the package: Adult of the UCI repository, 48,842 people of a census survey of 1994, 14 columns.

README.md in this folder says where the file comes from and what its columns mean.
"""

from pathlib import Path

from residualplanner.method.domain.domain import Domain

__all__ = ["adult"]

#: Labels in the order of their codes, none of which contains a space.
_WORKCLASS = "Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov Without-pay Never-worked ?"
_MARITAL_STATUS = "Married-civ-spouse Divorced Never-married Separated Widowed Married-spouse-absent Married-AF-spouse"
_OCCUPATION = (
    "Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty Handlers-cleaners Machine-op-inspct "
    "Adm-clerical Farming-fishing Transport-moving Priv-house-serv Protective-serv Armed-Forces ?"
)
_RELATIONSHIP = "Wife Own-child Husband Not-in-family Other-relative Unmarried"
_RACE = "White Asian-Pac-Islander Amer-Indian-Eskimo Other Black"
_NATIVE_COUNTRY = (
    "United-States Cambodia England Puerto-Rico Canada Germany Outlying-US(Guam-USVI-etc) India Japan Greece South "
    "China Cuba Iran Honduras Philippines Italy Poland Jamaica Vietnam Mexico Portugal Ireland France "
    "Dominican-Republic Laos Ecuador Taiwan Haiti Columbia Hungary Guatemala Nicaragua Scotland Thailand Yugoslavia "
    "El-Salvador Trinadad&Tobago Peru Hong Holand-Netherlands ?"
)


def adult() -> tuple[Domain, Path]:
    """The schema of the Adult data, and the path of its Parquet file.

    Returns:
        The domain, 14 attributes in the order of the file's columns, and a path that `measure` accepts as data.

    Example:
        >>> domain, path = adult()
        >>> domain.sizes
        (85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2)
        >>> domain["sex"].value_labels
        ('Female', 'Male')
    """
    domain = Domain(
        {
            "age": range(16, 101),
            "workclass": _WORKCLASS.split(),
            "fnlwgt": 100,
            "education-num": range(1, 17),
            "marital-status": _MARITAL_STATUS.split(),
            "occupation": _OCCUPATION.split(),
            "relationship": _RELATIONSHIP.split(),
            "race": _RACE.split(),
            "sex": ["Female", "Male"],
            "capital-gain": 100,
            "capital-loss": 100,
            "hours-per-week": range(1, 100),
            "native-country": _NATIVE_COUNTRY.split(),
            "income>50K": ["<=50K", ">50K"],
        }
    )
    return domain, Path(__file__).with_name("adult.parquet")
