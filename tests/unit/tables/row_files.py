"""Files of rows, written and read."""

from pmeans.tables import texts_of


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return path


def texts(source):
    return list(texts_of(source))
