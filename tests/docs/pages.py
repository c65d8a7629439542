"""The pages that people read, as sections of prose and blocks; and what it means to follow a page.

A block says what it is by the language of its fence:

    console   commands behind "$ ", each with the output that it must print, if any is shown; "…" stands for anything
    sh        a script, which must succeed
    yaml      a policy, which must pass `ringwall policy check`; a first line "# NAME" is the file that it belongs in
    c, json   compiled, or parsed; a first line "// NAME" is the file that it belongs in
    text      a picture or a listing, which nobody could run
"""
import dataclasses
import fnmatch
import re

LANGUAGES = ('console', 'sh', 'yaml', 'c', 'json', 'text')


@dataclasses.dataclass
class Block:
    """A fenced block, and the line of its page on which it begins."""
    language: str
    text: str
    line: int

    def file_name(self):
        """The file that it belongs in, by its first line; None without one."""
        found = re.match(r'(?:#|//) ([\w./-]+)\n', self.text)
        return found[1] if found else None

    def commands(self):
        """(command, expected output) of a console block. A command goes on behind a backslash at the end of a line."""
        found, going_on = [], False
        for line in self.text.splitlines():
            if going_on:
                found[-1][0] += '\n' + line.removeprefix('> ')
            elif line.startswith('$ '):
                found.append([line[2:], ''])
            elif found:
                found[-1][1] += line + '\n'
            else:
                raise ValueError(f'line {self.line}: output before the first command')
            going_on = (going_on or line.startswith('$ ')) and line.endswith('\\')
        return [tuple(pair) for pair in found]


@dataclasses.dataclass
class Section:
    """What stands below one heading."""
    title: str
    blocks: list


def read_page(path):
    """The sections of a page. A fence without a language, or a code block by indentation, is an error."""
    sections, block = [Section('', [])], None
    previous = ''
    for number, line in enumerate(path.read_text().splitlines(), 1):
        fence = re.fullmatch(r'```(\w*)', line)
        if block is None and fence:
            if fence[1] not in LANGUAGES:
                raise ValueError(f'{path.name}:{number}: a block must say what it is: {", ".join(LANGUAGES)}')
            block = Block(fence[1], '', number)
        elif block is not None and line == '```':
            sections[-1].blocks.append(block)
            block = None
        elif block is not None:
            block.text += line + '\n'
        elif re.match(r'#+ ', line):
            sections.append(Section(line.lstrip('#').strip(), []))
        elif re.match(r'    \S', line) and not previous.strip():
            raise ValueError(f'{path.name}:{number}: indented code; use a fence, so that it can be run')
        previous = line
    if block is not None:
        raise ValueError(f'{path.name}:{block.line}: the block does not end')
    return [section for section in sections if section.blocks]


def matches(expected, output):
    """Do the lines come in this order, nothing between them but where "…" stands? In a line "…" is any text."""
    wanted, given = expected.strip('\n').splitlines(), output.strip('\n').splitlines()

    def match(i, j):
        if i == len(wanted):
            return j == len(given)
        if wanted[i].strip() == '…':
            return any(match(i + 1, k) for k in range(j, len(given) + 1))
        pattern = re.sub(r'([*?\[])', r'[\1]', wanted[i].rstrip()).replace('…', '*')
        return j < len(given) and fnmatch.fnmatchcase(given[j].rstrip(), pattern) and match(i + 1, j + 1)
    return match(0, 0)
