"""Adjectives of the demo corpus: English and German form, both comparatives (`-` for none), and the nouns' tags."""

ADJECTIVES = """
old alt older älter adult animal text furniture vessel tool cloth vehicle building area machine opening bridge art
new neu - - print furniture vessel dish tool cloth vehicle building luggage machine opening room art
big groß bigger größer animal furniture vehicle building room area luggage opening plant river vessel art
small klein smaller kleiner kid animal furniture vessel dish tool building room area luggage opening plant machine art
beautiful schön more_beautiful schöner text furniture cloth building area flower plant vessel dish animal bridge art
good gut - - text food drink job weather tool art
bad schlecht - - text weather art
red rot - - furniture vessel dish cloth vehicle luggage flower opening
blue blau - - furniture vessel dish cloth vehicle luggage
green grün - - furniture vessel cloth vehicle luggage opening
white weiß - - furniture vessel dish cloth flower building
black schwarz - - furniture cloth vehicle luggage animal
yellow gelb - - furniture vessel dish cloth flower
cold kalt - - cool room river weather
warm warm - - hot room weather
fresh frisch - - food cool
long lang - - text street river bridge
short kurz - - text street
interesting interessant more_interesting interessanter text question sight art
boring langweilig - - text
important wichtig - - question print
difficult schwierig - - question tale
famous berühmt more_famous berühmter job text sight bridge art
heavy schwer - - luggage furniture
cheap billig cheaper billiger furniture vessel dish cloth machine food tool
empty leer - - vessel container public dish
full voll - - vessel container public
dirty schmutzig - - cloth vessel dish opening vehicle street
modern modern - - furniture building vehicle machine room
quiet ruhig - - street room area
young jung younger jünger adult
friendly freundlich - - person
happy glücklich - - person
tired müde - - person animal
sick krank - - person animal
hungry hungrig - - person animal
sad traurig - - person
rich reich - - adult
poor arm - - adult
strong stark stronger stärker adult
"""

COLOURS = ("red", "blue", "green", "white", "black", "yellow")
SIZES = ("big", "small", "old", "new", "beautiful", "heavy")
# How a person or an animal feels, as against what it is like.
MOODS = ("happy", "tired", "sick", "hungry", "sad")
