# A project with one application, whose second migration is the page's.
set -e
mkdir -p shop/migrations
touch shop/__init__.py shop/migrations/__init__.py
cat >shop/models.py <<'PY'
from django.db import models


class Session(models.Model):
    seen_at = models.DateTimeField(null=True)
PY
cat >>settings.py <<'PY'
SECRET_KEY = "not needed"
INSTALLED_APPS = ["shop"]
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
PY
export DJANGO_SETTINGS_MODULE=settings PYTHONPATH=.
/usr/bin/python3 -m django makemigrations shop
cp migration.py shop/migrations/0002_ttl.py
/usr/bin/python3 -m django migrate
