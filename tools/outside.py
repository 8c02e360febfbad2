import enum
import attrs
class Source(enum.Enum):
    WORKER="w"; WEB="x"; QUOTE="q"; AGENT="a"; JOB="j"; REMINDER="r"; NOTE="n"; HISTORY="h"; NETLIFY="y"; ERROR="e"
@attrs.frozen
class Outside:
    text: str
    blocks: tuple
def outside(text, source, *, redactor, limit_characters, origin=""):
    return Outside(text, ({"type":"text","text":"From outside: "+text},))
