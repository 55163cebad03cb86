"""Small lists of words by which a sentence is judged without a model; English, with a guard for the rest."""

from __future__ import annotations

import re

WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
NAME = re.compile(r"\s(?<=[^\s.!?:\u2026]\s)\s*[\"\u201c(]?([A-Z][^\W_]+)")
"""A capital in the middle of a sentence; what I begins (I'm, I've) is too short or has an apostrophe."""

# Not behind an abbreviation or an initial: half of "Dr. Brown" is another statement.
_SHORTENED = "".join(
    rf"(?<!\b{word}\.)"
    for word in ("Mr", "Dr", "Ms", "St", "No", "vs", "Mrs", "etc", r"e\.g", r"i\.e", "[A-Z]")
)
# What somebody does besides speaking, as "[shares a photo]"; any other bracket belongs to its sentence.
_CAPTION = r"\[[a-z]+s [^\]\n]{1,500}\]\s*(?:\n|\Z)"
SENTENCE_END = re.compile(
    rf"(?<=[.!?\u2026]){_SHORTENED}\s+|(?<=[\u3002\uff01\uff1f])\s*|\n+|\s(?={_CAPTION})"
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FIRST_PERSON = _words("i i'm i've i'd i'll im my mine me myself we we're we've we'd we'll our ours us")
SECOND_PERSON = _words("you you're you've you'd you'll your yours u ur")

TIME_WORDS = _words(
    """
    yesterday today tonight tomorrow ago since monday tuesday wednesday thursday friday saturday sunday
    january february april june july august september october november december jan feb apr aug sept oct
    nov dec weekend week weeks month months year years birthday anniversary summer winter autumn deadline
    until ayer hoy mañana lunes martes miércoles jueves viernes sábado domingo enero febrero marzo abril
    mayo junio julio agosto septiembre octubre noviembre diciembre gestern heute morgen montag dienstag
    mittwoch donnerstag freitag samstag sonntag januar februar märz mai juni juli oktober dezember hier
    demain lundi mardi mercredi jeudi vendredi samedi dimanche janvier février mars avril juin juillet
    août septembre octobre novembre décembre
    """
)

FACT_VERBS = _words(
    """
    am bought made went visited moved started joined live lives lived work works worked studied studying
    love loves favorite favourite prefer prefers hate hates planning plans decided signed won named called
    born married met took adopted own owns read wrote learned teach teaches teaching finished opened
    launched attended graduated got use uses used need needs must always never should runs named allergic
    wants want became began built chose found gave had lost saw sold sent taught
    """
)

SMALL_TALK = _words(
    """
    thanks thank thx ty wow awesome great cool nice amazing glad yeah yes yep yup no nope sure ok okay k
    hey hi hello bye goodbye congrats congratulations sounds sound good haha hahaha lol love absolutely
    definitely totally agreed agree exactly right oh ooh aw aww welcome proud happy cheers care soon later
    wonderful fantastic incredible excellent perfect beautiful gorgeous lovely sweet fun best well luck
    anytime pleasure problem worries appreciate please sorry done noted understood roger ack fine alright
    """
)

# What even a sentence that says nothing is made of.
_FILLER = _words(
    """
    really so very much such that this it its it's that's is was be am are you your you're you've i i'm me
    my we us for to of the a an and but too all how what lot lots hear hearing know let lets let's keep up
    long time been while chat chatting talk talking guys man dude buddy friend mate pal everyone support
    kind words hope hoping going job work day night morning evening see catch looks look like seems must
    feel feeling feels bet guess think thought understand said say impressive inspiring exciting excited
    interesting pretty truly super always here there do doing did have has had with on in at as new again
    ever forward can can't could would will wait i'll we'll you'll thing things one way make makes made
    more just if any anything something need needed when about out go get got from them they he she him
    her his their these those or not don't i've we're they're take
    """
)

NEGATIONS = _words(
    """
    not no never none nor neither cannot without don't doesn't didn't isn't aren't wasn't weren't can't
    couldn't won't wouldn't shouldn't hasn't haven't hadn't stop stopped nicht kein keine nie sin nunca
    jamás ne pas jamais sans
    """
)

POINTING = _words("there there's it it's that that's this they they're them those these he he's she she's")
"""What, at the beginning of a sentence, stands for something that the sentence before it named."""

GREETING = re.compile(r"(?i:hey|hi|hello|thanks|thank you)(?:,? [A-Z][^\W_]+)(?:,| [-\u2013\u2014]+) +(?=\S)")
"""A greeting by name in front of a sentence."""
OPENER = re.compile(
    r"(?:(?:oh|ooh|wow|well|hey|hi|hello|thanks|thank you|anyway|btw|by the way|aww?|whoa|woah|haha|lol|so"
    r"|guess what)(?:,| [-\u2013\u2014]+) +(?:and )?)+(?=\S)",
    re.IGNORECASE,
)
"""Words in front of a sentence that say nothing; yes and no are not among them, for they may answer."""

EMPTY = SMALL_TALK | _FILLER
"""Words that tell nothing by themselves."""

ACKNOWLEDGEMENTS = EMPTY | _words(
    """
    tomorrow today later tonight asap question idea point worked works working helped fixed check checking
    quickly quick try trying trust moment second sec minute brb afk cu bb np nvm lgtm wfm ttyl omg pls plz
    ya yea ah hmm hm mhm huh oops sup same here's though already still perfectly solved tested confirmed
    confirm approved received copy alles klar mache mach ich gut super toll perfekt prima danke dank
    vielen schön bitte gern gerne genau stimmt passt einverstanden verstanden okay ja nein nö doch morgen
    gleich dann wird gemacht erledigt fertig melde mich bis bald tschüss hallo hi guten tag abend das ist
    sehr wir sehen uns kein keine problem ach so na und mir dir es ok schau schaue kurz nach geht's wie
    viele grüße servus moin vale gracias muchas perfecto claro listo bien muy buenos días buenas tardes
    noches hola adiós hasta luego mañana pronto de acuerdo entendido genial estupendo sí si no hay
    problema por supuesto nada ya lo hago voy a hacerlo me parece qué tal hecho eso es está un momento
    enseguida dale merci beaucoup d'accord parfait bien sûr oui non très compris entendu salut bonjour
    bonsoir au revoir à demain plus tard tout de suite je fais ça c'est bon fait pas souci super génial
    voilà ok on y va un instant ça marche va vous le m'en occupe grazie mille perfetto va bene certo
    capito ciao sì obrigado obrigada perfeito tudo bem certo combinado valeu beleza bedankt dank je wel
    prima goed doe tack så mycket bra tak mange dziękuję dzięki dobrze tamam teşekkürler спасибо хорошо
    понял поняла ок да нет отлично ладно
    """
)
"""What a text is made of that only says that another one was heard, in the languages of many users."""

# Frequent words that English does not have, or not so often.
_FOREIGN = _words(
    """
    el la en de y un los las una que por para con está este esta pero muy como más del yo mi der das und
    ist ein eine nicht ich mit für auf den dem wir sie auch le les des une est dans pour avec qui sur je
    nous vous pas et il elle o os um não com uma isso eu meu gli che sono della per di het een van niet ik
    zijn wij voor naar
    """
)
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]")
_ENGLISH_HINTS = _words("the an is are was were to of and in on for i you it that with my at have has")


def is_english(words: frozenset[str] | set[str], text: str) -> bool:
    """Tell whether the lists speak a text's language; a text without any hint counts as English."""
    if not text.isascii() and 2 * len(_LATIN.findall(text)) < sum(c.isalpha() for c in text):
        return False
    return words.isdisjoint(_FOREIGN) or len(words & _ENGLISH_HINTS) >= len(words & _FOREIGN)


def sentences(text: str) -> list[str]:
    """Part a text where a sentence or a line ends."""
    return [part.strip() for part in SENTENCE_END.split(text) if part and part.strip()]


def asks(sentence: str) -> bool:
    """Tell whether a sentence is a question."""
    return sentence.rstrip("\"'\u201d\u2019)] ").endswith(("?", "\uff1f", "\u061f", "\u037e"))


def is_small_talk(words: frozenset[str] | set[str]) -> bool:
    """Tell whether some words, taken together, say nothing."""
    return words <= EMPTY


# What a model may do with a sentence goes by these (policy/wording).

NEGATING = _words(
    """
    no not never none nobody nothing nowhere neither nor without kein keine keinen keinem keiner keines
    nicht nichts nie niemals niemand niemanden niemandem weder ohne nunca jamás nadie nada ni sin ningún
    ninguna ninguno tampoco ne pas jamais rien sans aucun aucune personne não nem sem non senza mai не нет
    ни никогда никто ничего без нельзя 不 没 沒 无 無 非 勿 别 別 莫 未
    """
)

GUARDS = NEGATING | _words(
    """
    must may might can could should shall would need needs needed require requires required stop stops
    stopped only always if unless until till except but however before after when whenever while whereas
    although though instead rather than else otherwise either both between then first seldom rarely
    hardly barely almost nearly maybe perhaps probably possibly
    allegedly supposedly said says say thinks thought claims claimed believes believed told asked asks
    according because so that who whose whom whether or former formerly ex cannot

    muss musst müssen darf dürfen kann können könnte soll sollen sollte nur immer wenn falls sofern bis
    außer aber sondern doch bevor nachdem vor nach während obwohl statt anstatt sonst entweder
    zwischen dann zuerst fast kaum selten vielleicht wahrscheinlich sagt sagte
    meint glaubt laut weil dass welcher welche oder ehemals früher aufgehört

    debe deben puede pueden podría debería hay solo sólo siempre si salvo excepto pero sino antes después
    cuando mientras hasta aunque vez entre luego primero casi apenas raramente quizá
    quizás tal probablemente dice dijo cree según porque que quien cuyo o u ya dejó

    doit doivent peut peuvent seulement toujours sauf mais avant après quand lorsque jusque tandis lieu
    entre presque rarement peut-être dit selon parce qui ou

    должен должна должны может могут можно нужно надо только всегда если кроме пока до после когда перед
    но или почти редко возможно сказал сказала говорит думает что который чтобы вместо чем

    必 须 須 应 應 可 能 只 如 果 若 除 但 或 前 后 後 才 就 说 說
    """
)
"""A sentence with one of these denies, limits, allows, orders or reports: half of it may say the opposite."""

PLAIN = _words(
    """
    please also really actually now currently también ahora auch übrigens jetzt aussi maintenant также
    сейчас теперь
    """
)
"""Words that may be left out."""

PRONOUNS = POINTING | _words(
    """
    him her his hers its their theirs this er sie ihn ihm ihr ihre él ella
    ellos ellas suyo il elle ils elles он она оно они его её ее их
    """
)
"""Words for what the sentence before has named."""

AS_ROLE = _words("as als como comme")

RELATIVE_DAYS = {
    word: days
    for days, named in (
        (-1, "yesterday ayer gestern вчера"),
        (0, "today hoy heute сегодня"),
        (1, "tomorrow завтра"),
    )
    for word in named.split()
}
"""Days from the one on which it was said; "morgen", "mañana" and "hier" have another meaning too."""
