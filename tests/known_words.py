"""Makes `hlodiff/report/known_words.txt`: the words of the sentences that hlodiff writes, without names of programs.

`python -m tests.known_words` writes it anew; a test compares.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "hlodiff/report/known_words.txt"
_ROOMS = ("capture", "differ", "hlo", "inspect", "normalizer", "policy", "report", "snapshots", "tracing", "workflows")
_CODE = re.compile(r"`[^`]*`|https?://\S+")
_WORD = re.compile(r"[A-Za-z]+(?:'[a-z]+)?")
# Words of sentences that are programs too, or what shells and programs take for an order: no sentence of a result
# needs them, and a stranger's command would.
_PROGRAMS = """
    hint next
    accept add-apt alias ansible apk apply apt ar arch as ash attach awk aws az base64 bash bazel bg bind bisect
    brew builtin bundle bunzip bzip bzip2 cargo cat cd certutil chattr checkout chgrp chmod choco chown chroot
    clang clone cmake cmd cmp code comm command commit composer compress conda config cp cpio crontab csh curl
    cut cygstart dash dd declare delete deno df diff dig dir dirname disown dnf do docker doskey dotnet download
    du ed edit egrep emacs emerge enable env erase esac eval ex exec execute exit expand export expr fc fd fdisk
    fetch fg fgrep fi find flatpak fmt fold format ftp gcc gcloud gem get getopt gh git go gpg gradle grep
    groups gunzip gzip halt hash hatch head help hg hint history hlodiff hostname iex ifconfig import init
    insmod install invoke ip iptables jar java jj jobs join jq julia just kill ksh kubectl ld ldd let link ln
    local locate log login logout look lp ls lsof lua mail make mamba man md md5sum merge mesg mkdir mkfifo mkfs
    mklink mknod mktemp modprobe more mount mshta msiexec mv mvn nano nc ncat net netcat next nice ninja nix nl
    nm node nohup nox npm npx nslookup nuget od open openssl opkg pacman passwd paste patch pdm perl php ping
    pip pip3 pipx pkill podman poetry popd port poweroff powershell pr print printenv printf ps psql pull push
    pushd pwd pwsh python python3 rake ray rcp rd read readonly reboot record reg regsvr32 reject rename replace
    reset restart return review rg rm rmdir rsync ruby run rundll32 rustc sbt scoop scp screen script sed select
    send service set setx sftp sh shift shred shutdown sleep snap source spawn split sqlite ssh start stat stop
    strace strings su sudo svn swapon sync sysctl systemctl tac tail tar task taskkill tee telnet terraform tftp
    tmux tofu touch tox tr trap truncate type ulimit umask umount unalias uname uninstall unlink unset unzip
    upgrade upload useradd uv uvx vi vim visudo wait wall watch wget whatis where which who whoami winget wmic
    write wscript xargs xz yarn yes yum zip zsh zypper
"""
PROGRAMS = frozenset(_PROGRAMS.split())
# Some of these are needed all the same: opcodes and words of every report, harmless with what may stand beside them.
_NEEDED = """
    add all as at compress copy cut do edit expand format get groups hash head help host join less link local
    look more print read record replace return run select send shift sort source split start stop sync time type
    wait watch where which while write
"""
NEEDED = frozenset(_NEEDED.split())
# Functions of jax.nn that a report calls by their bare name: no program is called so.
_ACTIVATIONS = """
    celu elu gelu glu hardsigmoid hardswish hardtanh identity mish relu selu sigmoid silu softmax softplus sparsemax
    standardize swish
"""


def words() -> list[str]:
    """All of them, sorted."""
    found = set(_ACTIVATIONS.split())
    for room in _ROOMS:
        for file in sorted((ROOT / "hlodiff" / room).rglob("*.py")):
            for text in _texts(ast.parse(file.read_text(encoding="utf-8"))):
                found.update(word.lower() for word in _WORD.findall(_CODE.sub(" ", text)))
    return sorted(word for word in found if word not in PROGRAMS or word in NEEDED)


def _texts(tree: ast.AST) -> list[str]:
    """String constants without docstrings (of attributes too) and patterns."""
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    constants = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in docs)
    return [node.value for node in constants if isinstance(node.value, str) and "\\" not in node.value]


if __name__ == "__main__":
    FILE.write_text("\n".join(words()) + "\n", encoding="utf-8")
