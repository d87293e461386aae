"""Writes the reference of the Python SDK, made of its types and docstrings."""

import ast
import pathlib
import sys

package = pathlib.Path(sys.argv[1])
modules = {path.stem: ast.parse(path.read_text()) for path in sorted(package.glob("*.py"))}
exported = next(ast.literal_eval(node.value) for node in modules["__init__"].body if isinstance(node, ast.Assign) and node.targets[0].id == "__all__")
found = {node.name: node for tree in modules.values() for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))}


def head(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    args = ast.unparse(node.args)
    for first in ("self, ", "self", "cls, ", "cls"):
        if args.startswith(first):
            args = args[len(first):]
            break
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{'async ' if isinstance(node, ast.AsyncFunctionDef) else ''}{node.name}({args}){returns}"


def says(node: ast.AST) -> str:
    return " ".join((ast.get_docstring(node) or "").split())


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def rows(node: ast.ClassDef) -> list[str]:
    out = []
    for member in node.body:
        if isinstance(member, ast.AnnAssign) and not member.target.id.startswith("_"):
            out.append(f"| `{cell(ast.unparse(member.target))}: {cell(ast.unparse(member.annotation))}` | |")
        elif isinstance(member, (ast.FunctionDef, ast.AsyncFunctionDef)) and not member.name.startswith("_"):
            if any(ast.unparse(d) == "property" for d in member.decorator_list):
                out.append(f"| `{member.name}: {cell(ast.unparse(member.returns))}` | {cell(says(member))} |")
            else:
                out.append(f"| `{cell(head(member))}` | {cell(says(member))} |")
    return out


print("# The Python SDK, call by call\n\n<!-- made of the types by test/docs -->\n\nHow to get it and what to do with it: [embed.md](../embed.md).")
functions = [name for name in exported if not isinstance(found[name], ast.ClassDef)]
for name in [*sorted(functions), *sorted(set(exported) - set(functions))]:
    node = found[name]
    print(f"\n## {name}")
    if says(node):
        print(f"\n{says(node)}")
    if not isinstance(node, ast.ClassDef):
        print(f"\n```python\n{head(node)}\n```")
    elif rows(node):
        print("\n| member | |\n| --- | --- |", *rows(node), sep="\n")
