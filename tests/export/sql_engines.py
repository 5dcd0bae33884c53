"""Databases that run exported SQL: DuckDB, SQLite, and a PostgreSQL server for the tests.

Tables come as Arrow tables, which tell NULL from NaN. Names are quoted here by hand, so that what fcca writes is not judged
by itself.
"""

from __future__ import annotations

import glob
import os
import pwd
import shutil
import sqlite3
import subprocess
import tempfile
from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from real_data import absent, imported

CANARY, NUMBER = "canary", "row number"


def quoted(name: str) -> str:
    """An identifier of standard SQL."""
    return '"' + name.replace('"', '""') + '"'


class Engine:
    """A database with a table that must not change."""

    #: Types of columns, by those of Arrow.
    types: ClassVar[dict[pa.DataType, str]]

    def run(self, statement: str) -> tuple[list[str], list[tuple]]:
        """Names of columns, and rows."""
        raise NotImplementedError

    def fill(self, name: str, table: pa.Table) -> None:
        """Put rows into an existing table."""
        raise NotImplementedError

    def load(self, table: pa.Table, name: str = "data", schema: str | None = None) -> None:
        """Replace the table, with a last column of row numbers."""
        where = quoted(name) if schema is None else f"{quoted(schema)}.{quoted(name)}"
        table = table.append_column(NUMBER, pa.array(range(len(table)), pa.int64()))
        columns = ", ".join(f"{quoted(field.name)} {self.types[field.type]}" for field in table.schema)
        self.change(f"DROP TABLE IF EXISTS {where}")
        self.change(f"CREATE TABLE {where} ({columns})")
        self.fill(where, table)

    def change(self, statement: str) -> None:
        """Run a statement without a result."""
        raise NotImplementedError

    def answers(self, statement: str) -> dict[str, list]:
        """The columns that a query adds to a table, in the order of the table's rows."""
        names, rows = self.run(statement)
        at = names.index(NUMBER)
        rows.sort(key=lambda row: row[at])
        columns = list(zip(*rows, strict=True))
        assert list(columns[at]) == list(range(len(rows)))
        return {name: list(column) for name, column in zip(names[at + 1 :], columns[at + 1 :], strict=True)}

    def put_canary(self) -> None:
        self.change(f"CREATE TABLE {CANARY} (alive INTEGER)")
        self.change(f"INSERT INTO {CANARY} VALUES (1)")

    def canary_lives(self) -> bool:
        return self.run(f"SELECT * FROM {CANARY}") == (["alive"], [(1,)])

    def tables(self) -> set[str]:
        """Names of all tables and views."""
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError


class DuckDB(Engine):
    types: ClassVar = {
        pa.float64(): "DOUBLE", pa.float32(): "FLOAT", pa.int64(): "BIGINT", pa.int32(): "INTEGER", pa.int8(): "TINYINT",
        pa.string(): "VARCHAR", pa.bool_(): "BOOLEAN",
    }  # fmt: skip

    def __init__(self) -> None:
        self.connection = imported("duckdb").connect()
        self.connection.execute("SET threads = 1")
        self.put_canary()

    def run(self, statement):
        found = self.connection.execute(statement)
        return [one[0] for one in found.description], found.fetchall()

    def change(self, statement):
        self.connection.execute(statement)

    def fill(self, name, table):
        self.connection.register("given", table)
        self.connection.execute(f"INSERT INTO {name} SELECT * FROM given")
        self.connection.unregister("given")

    def tables(self):
        return {row[0] for row in self.run("SELECT table_name FROM information_schema.tables")[1]}

    def close(self):
        self.connection.close()


class SQLite(Engine):
    types: ClassVar = {
        pa.float64(): "REAL", pa.float32(): "FLOAT", pa.int64(): "INTEGER", pa.int32(): "INT", pa.int8(): "TINYINT",
        pa.string(): "TEXT", pa.bool_(): "BOOLEAN",
    }  # fmt: skip

    def __init__(self) -> None:
        self.connection = sqlite3.connect(":memory:", isolation_level=None)
        self.put_canary()

    def run(self, statement):
        found = self.connection.execute(statement)
        return [one[0] for one in found.description], found.fetchall()

    def change(self, statement):
        self.connection.execute(statement)

    def fill(self, name, table):
        rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
        self.connection.execute("BEGIN")
        self.connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * table.num_columns)})", rows)
        self.connection.execute("COMMIT")

    def tables(self):
        return {row[0] for row in self.run("SELECT name FROM sqlite_master")[1]}

    def close(self):
        self.connection.close()


class Postgres(Engine):
    """A server in a temporary folder, stopped and removed at the end."""

    types: ClassVar = {
        pa.float64(): "float8", pa.float32(): "float4", pa.int64(): "int8", pa.int32(): "int4", pa.int8(): "int2",
        pa.string(): "text", pa.bool_(): "bool",
    }  # fmt: skip

    def __init__(self) -> None:
        psycopg = imported("psycopg")
        programs = _programs()
        self.owner = _owner()
        self.folder = Path(tempfile.mkdtemp(prefix="fcca-pg-"))  # short, as the path of a socket has to be
        if self.owner is not None:
            os.chown(self.folder, self.owner.pw_uid, self.owner.pw_gid)
        self.control = programs / "pg_ctl"
        self.data = self.folder / "data"
        self._as_owner(
            programs / "initdb", "-D", self.data, "-U", "fcca", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "-N"
        )
        options = f"-k {self.folder} -c listen_addresses='' -c fsync=off -c synchronous_commit=off"
        self._as_owner(self.control, "-D", self.data, "-w", "-l", self.folder / "log", "-o", options, "start")
        self.connection = psycopg.connect(host=str(self.folder), user="fcca", dbname="postgres", autocommit=True)
        self.put_canary()

    def _as_owner(self, *command) -> None:
        who = [] if self.owner is None else ["runuser", "-u", self.owner.pw_name, "--"]
        done = subprocess.run(
            [*who, *map(str, command)],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{command[0]} ended with {done.returncode}: {done.stdout}")

    def run(self, statement):
        found = self.connection.execute(statement, prepare=False)
        return [one.name for one in found.description], found.fetchall()

    def change(self, statement):
        self.connection.execute(statement)

    def fill(self, name, table):
        types = [self.types[field.type] for field in table.schema]
        with self.connection.cursor() as cursor, cursor.copy(f"COPY {name} FROM STDIN (FORMAT BINARY)") as copy:
            copy.set_types(types)
            for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
                copy.write_row(row)

    def tables(self):
        return {row[0] for row in self.run("SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace")[1]}

    def close(self):
        self.connection.close()
        self._as_owner(self.control, "-D", self.data, "-m", "immediate", "-w", "stop")
        shutil.rmtree(self.folder)


def _programs() -> Path:
    """The folder of PostgreSQL's server programs, which Debian does not put on the path."""
    found = shutil.which("initdb")
    folders = (
        [Path(found).resolve().parent] if found else [Path(one) for one in sorted(glob.glob("/usr/lib/postgresql/*/bin"))]
    )
    for folder in reversed(folders):
        if (folder / "initdb").exists() and (folder / "pg_ctl").exists():
            return folder
    absent("PostgreSQL's server is not installed (Debian: apt-get install postgresql)")


def _owner() -> pwd.struct_passwd | None:
    """The user that runs the server, because PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam("postgres")
    except KeyError:
        absent("PostgreSQL does not run as root, and there is no user postgres")


ENGINES = {"duckdb": DuckDB, "sqlite": SQLite, "postgres": Postgres}
